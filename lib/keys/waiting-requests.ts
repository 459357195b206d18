import { Injectable } from '@nestjs/common';
import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from '../response/client.js';
import type { KeyName } from '../schema/key-name.js';
import { LeaseStore } from './lease-store.js';

/** Across processes there is only the database to ask: often at first, then calmer. */
const FIRST_LOOK = 10;
const SLOWEST_LOOK = 100;

interface Watched extends KeyName {
  owner: string;
  waiting: Set<() => void>;
}

/**
 * Where duplicates wait for a running attempt to end. An end in this process
 * wakes them at once; ends elsewhere are seen by one statement per look for all
 * keys that are waited for. Nobody holds a connection while waiting.
 */
@Injectable()
export class WaitingRequests {
  private readonly watched = new Map<string, Watched>();
  private looking = false;
  private interval = FIRST_LOOK;

  constructor(private readonly store: LeaseStore) {}

  /** How many requests wait at the moment. */
  get waiting(): number {
    let count = 0;
    for (const { waiting } of this.watched.values()) count += waiting.size;
    return count;
  }

  /**
   * Resolves when the attempt may have ended or the client has hung up, and after
   * `timeout` at the latest.
   */
  wait(attempt: KeyName & { owner: string }, timeout: number, client?: Client): Promise<void> {
    return new Promise((resolve) => {
      const entry = this.entry(attempt);
      const leave = () => {
        clearTimeout(timer);
        stopListening?.();
        entry.waiting.delete(leave);
        if (entry.waiting.size === 0) this.watched.delete(attempt.owner);
        resolve();
      };
      const timer = setTimeout(leave, timeout);
      // Whoever has hung up would be a burden to every look, up to the end of its time.
      const stopListening = client?.whenGone(leave);
      entry.waiting.add(leave);
      this.interval = FIRST_LOOK;
      void this.look();
    });
  }

  /** An attempt of this process has ended. */
  wake(owner: string): void {
    const entry = this.watched.get(owner);
    for (const leave of [...(entry?.waiting ?? [])]) leave();
  }

  /** For shutdown: nobody waits here any longer. */
  wakeAll(): void {
    for (const owner of [...this.watched.keys()]) this.wake(owner);
  }

  private entry({ scope, endpoint, key, owner }: KeyName & { owner: string }): Watched {
    let entry = this.watched.get(owner);
    if (!entry)
      this.watched.set(owner, (entry = { scope, endpoint, key, owner, waiting: new Set() }));
    return entry;
  }

  private async look(): Promise<void> {
    if (this.looking) return;
    this.looking = true;
    try {
      while (this.watched.size > 0) {
        await pause(this.interval, undefined, { ref: false });
        this.interval = Math.min(SLOWEST_LOOK, this.interval * 1.5);
        const asked = [...this.watched.values()];
        if (asked.length === 0) return;
        // A store that does not answer is met again by the waiting request
        // itself, which then says so; here it only means "not known yet".
        const running = await this.store.stillRunning(asked).catch(() => undefined);
        for (const { owner } of asked) {
          if (running && !running.has(owner)) this.wake(owner);
        }
      }
    } finally {
      this.looking = false;
    }
  }
}
