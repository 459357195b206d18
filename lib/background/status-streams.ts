import { setTimeout as pause } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import type { EventStream } from '../response/event-stream.js';
import { outside } from '../telemetry/outside.js';
import { isSettled, tagOf, type KeyProgress } from './status-progress.js';
import { StatusStore } from './status-store.js';

/** The key that a client watches, and its scope. */
export interface WatchedKey {
  id: string;
  scope: string;
}

interface Watcher extends WatchedKey {
  stream: EventStream;
  /** The version of the progress that the client has. */
  tag: string;
  /** By performance.now(). */
  since: number;
  lastWrite: number;
  leave: () => void;
}

/**
 * Pauses between two reads: short at first and after a change, then longer. One
 * statement serves all streams of the process.
 */
const FIRST_LOOK = 250;
const SLOWEST_LOOK = 2_000;

/** When a client should reconnect after its stream has ended, in milliseconds. */
const RETRY = 2_000;

/**
 * Streams of progress. One statement per round serves all of them, and only keys
 * that have changed are read in full.
 */
@Injectable()
export class StatusStreams {
  readonly limits = {
    /** Each costs a socket and some kilobytes, and every statement names its key. */
    streams: 1_000,
    /**
     * How long a stream lives. Then the client reconnects, and passes the guards
     * again. In milliseconds.
     */
    longest: 5 * 60_000,
    /**
     * The pause between two signs of life: proxies close a connection that is
     * silent for a minute, some of them earlier. In milliseconds.
     */
    keepAlive: 15_000,
  };

  private readonly watchers = new Set<Watcher>();
  private looking = false;
  private closed = false;
  private interval = FIRST_LOOK;

  constructor(private readonly store: StatusStore) {}

  get size(): number {
    return this.watchers.size;
  }

  /** False: there are too many streams. */
  get hasRoom(): boolean {
    return !this.closed && this.watchers.size < this.limits.streams;
  }

  /**
   * Sends progress until the key is finished.
   *
   * @param known the id of the last event that the client has seen
   */
  open({ id, scope }: WatchedKey, now: KeyProgress, stream: EventStream, known?: string): void {
    const tag = tagOf(now);
    stream.write(`retry: ${RETRY}\n\n`);
    if (known !== tag || isSettled(now)) stream.write(eventOf(now, tag));
    if (isSettled(now)) return stream.end();
    const since = performance.now();
    const leave = () => void this.watchers.delete(watcher);
    const watcher: Watcher = { id, scope, stream, tag, since, lastWrite: since, leave };
    stream.client.whenGone(leave);
    this.watchers.add(watcher);
    this.interval = FIRST_LOOK;
    void outside(() => this.look());
  }

  /**
   * For shutdown: a server does not close while streams are open. Clients
   * reconnect to another process.
   */
  close(): void {
    this.closed = true;
    for (const watcher of this.watchers) this.end(watcher);
  }

  private async look(): Promise<void> {
    if (this.looking) return;
    this.looking = true;
    try {
      while (this.watchers.size > 0) {
        await pause(this.interval, undefined, { ref: false });
        this.interval = Math.min(SLOWEST_LOOK, this.interval * 1.5);
        // If the store does not answer, the streams stay open.
        await this.tellChanges([...this.watchers]).catch(() => undefined);
        this.tend(performance.now());
      }
    } finally {
      this.looking = false;
    }
  }

  private async tellChanges(asked: readonly Watcher[]): Promise<void> {
    if (asked.length === 0) return;
    const marks = new Map((await this.store.marks(asked)).map((mark) => [mark.id, mark]));
    const changed = asked.filter((watcher) => {
      const mark = marks.get(watcher.id);
      if (!mark) this.tellGone(watcher);
      return mark && tagOf(mark) !== watcher.tag;
    });
    if (changed.length === 0) return;
    this.interval = FIRST_LOOK;
    const found = await this.store.progressOf(changed);
    const progress = new Map(found.map((each) => [each.id, each]));
    for (const watcher of changed) {
      const now = progress.get(watcher.id);
      if (now) this.tell(watcher, now);
    }
  }

  private tell(watcher: Watcher, now: KeyProgress): void {
    watcher.tag = tagOf(now);
    this.write(watcher, eventOf(now, watcher.tag));
    if (isSettled(now)) this.end(watcher);
  }

  /** The key was removed by an operator or the reaper, or released because nothing ran. */
  private tellGone(watcher: Watcher): void {
    this.write(watcher, 'event: gone\ndata: {}\n\n');
    this.end(watcher);
  }

  /** Ends streams that are too old, and keeps the others alive. */
  private tend(now: number): void {
    for (const watcher of this.watchers) {
      if (now - watcher.since >= this.limits.longest) this.end(watcher);
      else if (now - watcher.lastWrite >= this.limits.keepAlive) {
        this.write(watcher, ': still here\n\n');
      }
    }
  }

  private write(watcher: Watcher, text: string): void {
    watcher.stream.write(text);
    watcher.lastWrite = performance.now();
  }

  private end(watcher: Watcher): void {
    watcher.leave();
    watcher.stream.end();
  }
}

function eventOf(progress: KeyProgress, tag: string): string {
  const name = isSettled(progress) ? 'done' : 'progress';
  // This JSON has no line breaks: JSON.stringify escapes those in strings.
  return `event: ${name}\nid: ${tag}\ndata: ${JSON.stringify(progress)}\n\n`;
}
