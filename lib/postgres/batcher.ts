import { isConnectionLoss } from './database-errors.js';
import { outside } from '../telemetry/outside.js';
import { publish } from '../telemetry/publish.js';
import { StoreUnavailableError } from './store-unavailable.error.js';

export interface BatcherOptions<In> {
  /** The kind of statements, for events. */
  name: string;
  /** The maximum number of items per statement. @default 64 */
  size?: number;
  /**
   * The maximum number of bytes per statement; a larger item is sent by itself.
   * @default 262144 (256 KiB)
   */
  bytes?: number;
  /**
   * The maximum number of waiting items. Beyond it, requests are refused, so that
   * memory stays bounded. @default 5000
   */
  queue?: number;
  /** The longest that an item waits to be sent, in milliseconds. @default for ever */
  wait?: number;
  weigh: (item: In) => number;
  /**
   * The longest that an item waits for running statements of many items, to share the
   * next one with others, in milliseconds. @default 3
   */
  gather?: number;
  /** Whether all connections are in use, so that a further statement would wait for one. @default never */
  exhausted?: (() => boolean) | undefined;
}

/** About what one statement can hold before it becomes noticeably slower. */
const SIZE = 64;
const BYTES = 256 * 1024;

/** A few seconds of a busy process; a later item would time out anyway. */
const QUEUE = 5_000;

/**
 * Running statements with fewer items in all are no reason to wait for: a busy
 * process has more of them, and sends fewer and larger statements by waiting.
 */
const FEW = 8;

/** A statement that takes longer waits more than it works: a second one may as well run beside it. */
const GATHER = 3;

/** A statement that takes longer waits for a lock or a slow disk: others do not wait for it. */
const PATIENCE = 100;

/** How many statements may run at once while none is late. */
const CONCURRENCY = 2;

/** The maximum number of connections for one kind of statement. */
const MOST_CONCURRENT = 4;

/** The result of one item of a statement that succeeded. */
export class Failed {
  constructor(readonly error: unknown) {}
}

/** A class, because it lives as long as its request: see "Garbage collection" in bench/README.md. */
class PendingCall<In, Out> {
  readonly since = performance.now();

  constructor(
    readonly item: In,
    readonly alone: boolean,
    readonly weight: number,
    readonly resolve: (out: Out) => void,
    readonly reject: (error: unknown) => void,
  ) {}
}

/**
 * Sends concurrent calls as one multi-row statement: calls of the same turn of
 * the event loop, and calls that come while statements are running. A call waits
 * for a running statement only if that one has many items or no connection is free, for a short time,
 * and not once many calls wait, or a full statement. So an idle process adds no waiting, and a busy
 * one sends fewer and larger statements.
 */
export class Batcher<In, Out> {
  private waiting: PendingCall<In, Out>[] = [];
  private waitingWeight = 0;
  private running = 0;
  /** The items of statements that were sent a moment ago and are still running. */
  private recent = 0;
  /** Late statements, which others do not wait for. */
  private late = 0;
  private readonly size: number;
  private readonly bytes: number;
  private watching = false;
  private scheduled = false;

  /** @param send gets at least one item and returns one result for each, in order */
  constructor(
    private readonly send: (items: In[]) => Promise<(Out | Failed)[]>,
    private readonly options: BatcherOptions<In>,
  ) {
    this.size = options.size ?? SIZE;
    this.bytes = options.bytes ?? BYTES;
  }

  /** @param alone sent by itself */
  call(item: In, alone = false): Promise<Out> {
    return new Promise((resolve, reject) => {
      if (this.waiting.length >= (this.options.queue ?? QUEUE)) {
        publish('store_unavailable', () => ({ code: 'queue_full' }));
        reject(new StoreUnavailableError('Too many requests wait for the database.'));
        return;
      }
      const weight = alone ? this.bytes : this.options.weigh(item);
      this.waiting.push(new PendingCall(item, alone, weight, resolve, reject));
      this.waitingWeight += weight;
      this.sendSoon();
      this.watch();
    });
  }

  /**
   * Refuses items that have waited too long. Stuck statements end one by one, so
   * otherwise a long queue would be answered long after its clients have left.
   */
  private watch(): void {
    const { wait = Infinity } = this.options;
    const [oldest] = this.waiting;
    if (!oldest || wait === Infinity || this.watching) return;
    this.watching = true;
    const expire = () => {
      this.watching = false;
      const now = performance.now();
      const patient = this.waiting.findIndex(({ since }) => now - since < wait);
      const expired = this.take(patient < 0 ? this.waiting.length : patient);
      for (const { reject } of expired) {
        publish('store_unavailable', () => ({ code: 'queue_timeout' }));
        reject(new StoreUnavailableError(`No statement could be sent within ${wait} ms.`));
      }
      this.watch();
    };
    outside(() => setTimeout(expire, oldest.since + wait - performance.now()).unref());
  }

  /** At the end of the event loop's turn, so that other calls of this turn are included. */
  private sendSoon(): void {
    if (this.scheduled || !this.maySend()) return;
    this.scheduled = true;
    setImmediate(() => {
      this.scheduled = false;
      // A batch serves many requests, so it runs in the context of none.
      outside(() => this.sendBatches());
    });
  }

  private sendBatches(): void {
    while (this.maySend()) void this.run(this.nextBatch());
  }

  private maySend(): boolean {
    const { waiting, running, late } = this;
    if (waiting.length === 0 || running - late >= CONCURRENCY || running >= MOST_CONCURRENT) {
      return false;
    }
    if (this.recent === 0 || this.waitingWeight >= this.bytes) return true;
    if (waiting.length < FEW && this.options.exhausted?.()) return false;
    // As many as are on their way: while one half of the requests waits for the database, the other
    // half is at work here.
    return this.recent < FEW || waiting.length >= this.recent;
  }

  /** As many items as one statement may hold, in the order of the calls. */
  private nextBatch(): PendingCall<In, Out>[] {
    let total = 0;
    let count = 0;
    for (const { alone, weight } of this.waiting) {
      total += weight;
      if (count === this.size || (count > 0 && (alone || total > this.bytes))) break;
      count += 1;
      if (alone) break;
    }
    return this.take(count);
  }

  private take(count: number): PendingCall<In, Out>[] {
    const taken = this.waiting.splice(0, count);
    for (const { weight } of taken) this.waitingWeight -= weight;
    return taken;
  }

  private async run(calls: PendingCall<In, Out>[]): Promise<void> {
    publish('batch_sent', () => ({ statements: this.options.name, size: calls.length }));
    const ended = this.follow(calls.length);
    try {
      await this.execute(calls);
    } finally {
      ended();
    }
  }

  /** Counts a statement as long as it runs. What it keeps from being sent becomes less with time. */
  private follow(items: number): () => void {
    let isRecent = true;
    let isLate = false;
    const becomeLate = () => {
      isLate = true;
      this.late += 1;
      this.sendBatches();
    };
    const beRecentNoMore = () => {
      isRecent = false;
      this.recent -= items;
      timer = setTimeout(becomeLate, PATIENCE - GATHER);
      this.sendBatches();
    };
    let timer = setTimeout(beRecentNoMore, this.options.gather ?? GATHER);
    this.running += 1;
    this.recent += items;
    return () => {
      clearTimeout(timer);
      this.running -= 1;
      if (isRecent) this.recent -= items;
      if (isLate) this.late -= 1;
      this.sendSoon();
    };
  }

  private async execute(calls: PendingCall<In, Out>[]): Promise<void> {
    try {
      const results = await this.send(calls.map(({ item }) => item));
      calls.forEach(({ resolve, reject }, index) => {
        const result = results[index]!;
        if (result instanceof Failed) reject(result.error);
        else resolve(result);
      });
    } catch (error) {
      // A row that the database refuses must not fail the others. A lost connection fails all of
      // them, and each one is retried by its caller.
      const refused = calls.length > 1 && !isConnectionLoss(error) && !isTimeout(error);
      if (!refused) return calls.forEach(({ reject }) => reject(error));
      await Promise.all(calls.map((call) => this.execute([call])));
    }
  }
}

/** The statement may still be running: another one would only wait for it. */
export function isTimeout(error: unknown): boolean {
  return error instanceof StoreUnavailableError && error.cause === undefined;
}
