import { isConnectionLoss } from './database-errors.js';
import { outside } from '../telemetry/outside.js';
import { publish } from '../telemetry/publish.js';
import { StoreUnavailableError } from './store-unavailable.error.js';

export interface BatcherOptions<In> {
  /** What the statements are about, for events. */
  name: string;
  /** The most items of one statement. @default 64 */
  size?: number;
  /** The most bytes of one statement; a larger item is sent by itself. @default 262144 (256 KiB) */
  bytes?: number;
  /** The most items that wait. Beyond it, requests are refused rather than memory filled. @default 5000 */
  queue?: number;
  /** The longest that an item waits to be sent, in milliseconds. @default for ever */
  wait?: number;
  weigh: (item: In) => number;
  /**
   * How many statements may be on their way while none is late. With two, one is
   * in the database while the results of the other are dealt with. @default 2
   */
  concurrency?: number;
}

/** About what one statement can hold before the database takes noticeably longer for it. */
const SIZE = 64;
const BYTES = 256 * 1024;

/** A few seconds of a busy process; whoever comes later would be timed out anyway. */
const QUEUE = 5_000;

/** A statement that takes longer has met a lock or a slow disk: others need not wait for it. */
const PATIENCE = 100;

const CONCURRENCY = 2;

/** Connections that one kind of statement may take from the application at most. */
const MOST_CONCURRENT = 4;

/** What became of one item whose statement as a whole succeeded. */
export class Failed {
  constructor(readonly error: unknown) {}
}

interface PendingCall<In, Out> {
  item: In;
  alone: boolean;
  since: number;
  resolve: (out: Out) => void;
  reject: (error: unknown) => void;
}

/**
 * Makes one multi-row statement of concurrent calls: those that one turn of the
 * event loop brings, and those that come while statements are on their way. A call
 * that finds none on its way is sent at the end of its turn, so an idle process
 * adds no waiting.
 */
export class Batcher<In, Out> {
  private waiting: PendingCall<In, Out>[] = [];
  private running = 0;
  /** Statements that others do not wait for any more. */
  private late = 0;
  private watching = false;
  private scheduled = false;

  /** @param send gets at least one item and returns one result for each, in order */
  constructor(
    private readonly send: (items: In[]) => Promise<(Out | Failed)[]>,
    private readonly options: BatcherOptions<In>,
  ) {}

  /** @param alone not together with others */
  call(item: In, alone = false): Promise<Out> {
    return new Promise((resolve, reject) => {
      if (this.waiting.length >= (this.options.queue ?? QUEUE)) {
        publish('store_unavailable', () => ({ code: 'queue_full' }));
        reject(new StoreUnavailableError('Too many requests wait for the database.'));
        return;
      }
      this.waiting.push({ item, alone, since: performance.now(), resolve, reject });
      this.sendSoon();
      this.watch();
    });
  }

  /**
   * Refuses what has waited too long. Statements that are stuck end one by one, so
   * without this a long queue would be answered long after its clients have left.
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
      const expired = this.waiting.splice(0, patient < 0 ? this.waiting.length : patient);
      for (const { reject } of expired) {
        publish('store_unavailable', () => ({ code: 'queue_timeout' }));
        reject(new StoreUnavailableError(`No statement could be sent within ${wait} ms.`));
      }
      this.watch();
    };
    outside(() => setTimeout(expire, oldest.since + wait - performance.now()).unref());
  }

  /** At the end of the event loop's turn: others may be about to call, or have just got their results. */
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
    const most = this.options.concurrency ?? CONCURRENCY;
    return waiting.length > 0 && running - late < most && running < MOST_CONCURRENT;
  }

  /** As much as one statement may hold, in the order of the calls. */
  private nextBatch(): PendingCall<In, Out>[] {
    const { size = SIZE, bytes = BYTES, weigh } = this.options;
    let weight = 0;
    let count = 0;
    for (const { item, alone } of this.waiting) {
      weight += weigh(item);
      if (count === size || (count > 0 && (alone || weight > bytes))) break;
      count += 1;
      if (alone) break;
    }
    return this.waiting.splice(0, count);
  }

  private async run(calls: PendingCall<In, Out>[]): Promise<void> {
    this.running += 1;
    publish('batch_sent', () => ({ statements: this.options.name, size: calls.length }));
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      this.late += 1;
      this.sendBatches();
    }, PATIENCE);
    try {
      await this.execute(calls);
    } finally {
      clearTimeout(timer);
      this.running -= 1;
      if (isLate) this.late -= 1;
      this.sendSoon();
    }
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
      // A row that the database refuses must not take its neighbours with it.
      // A lost connection concerns all of them, and each one asks again.
      const refused = calls.length > 1 && !isConnectionLoss(error) && !isTimeout(error);
      if (!refused) return calls.forEach(({ reject }) => reject(error));
      await Promise.all(calls.map((call) => this.execute([call])));
    }
  }
}

/** The statement may still be at work: sending it again would only queue up behind it. */
function isTimeout(error: unknown): boolean {
  return error instanceof StoreUnavailableError && error.cause === undefined;
}
