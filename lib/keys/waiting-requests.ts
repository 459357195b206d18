import { Injectable } from '@nestjs/common';
import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from '../response/client.js';
import type { KeyName } from '../schema/key-name.js';
import { LeaseStore } from './lease-store.js';

/**
 * Attempts of other processes are only visible in the database: it is read often
 * at first, then more rarely.
 */
const FIRST_LOOK = 10;
const SLOWEST_LOOK = 100;

interface Watched extends KeyName {
  owner: string;
  waiting: Set<() => void>;
}

/**
 * Where duplicates wait for a running attempt to end. The end of an attempt in
 * this process wakes them at once; for other processes, one statement at a time
 * reads all keys that are waited for. A waiting request holds no connection.
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
      // A client that has left would otherwise be part of every read until its time is up.
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

  /** For shutdown: releases all waiting requests. */
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
        // If the store does not answer, the waiting request will find that out itself; here it only
        // means "not known yet".
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
