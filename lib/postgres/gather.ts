import { isConnectionLoss } from './database-errors.js';
import { StoreUnavailableError } from './store-unavailable.error.js';

export interface GatherOptions<In> {
  /** The most items of one statement. @default 64 */
  size?: number;
  /** The most bytes of one statement; a single item above it travels by itself. @default 262144 (256 KiB) */
  bytes?: number;
  /** The most items that wait. Beyond it, requests are refused rather than memory filled. @default 5000 */
  queue?: number;
  /** The longest that an item waits for its departure, in milliseconds. @default for ever */
  wait?: number;
  weigh: (item: In) => number;
  /**
   * How many statements may be on their way while none is late. With two, one is
   * in the database while the results of the other are dealt with. @default 2
   */
  flights?: number;
}

/** About what one round trip carries without the database noticing the difference. */
const SIZE = 64;
const BYTES = 256 * 1024;

/** A few seconds of a busy process; whoever comes later would be timed out anyway. */
const QUEUE = 5_000;

/** A flight that takes longer has met a lock or a slow disk: others need not wait for it. */
const PATIENCE = 100;

const FLIGHTS = 2;

/** Connections that one kind of statement may take from the application at most. */
const MOST_FLIGHTS = 4;

/** What became of one item whose statement as a whole succeeded. */
export class Failed {
  constructor(readonly error: unknown) {}
}

interface Passenger<In, Out> {
  item: In;
  alone: boolean;
  since: number;
  resolve: (out: Out) => void;
  reject: (error: unknown) => void;
}

/**
 * Lets concurrent calls travel together: those that the event loop brings in one
 * turn, and those that come while statements are on their way, leave as one
 * multi-row statement. A call that finds nothing on its way leaves at the end of
 * its turn, so an idle process adds no waiting.
 */
export class Gather<In, Out> {
  private waiting: Passenger<In, Out>[] = [];
  private flights = 0;
  /** Flights that others do not wait for any more. */
  private late = 0;
  private watching = false;
  private leaving = false;

  /** @param send gets at least one item and returns one result for each, in order */
  constructor(
    private readonly send: (items: In[]) => Promise<(Out | Failed)[]>,
    private readonly options: GatherOptions<In>,
  ) {}

  /** @param alone not together with others */
  call(item: In, alone = false): Promise<Out> {
    return new Promise((resolve, reject) => {
      if (this.waiting.length >= (this.options.queue ?? QUEUE)) {
        reject(new StoreUnavailableError('Too many requests wait for the database.'));
        return;
      }
      this.waiting.push({ item, alone, since: performance.now(), resolve, reject });
      this.departSoon();
      this.watch();
    });
  }

  /**
   * Refuses what has waited too long. Flights that are stuck end one by one, so
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
        reject(new StoreUnavailableError(`No statement could be sent within ${wait} ms.`));
      }
      this.watch();
    };
    setTimeout(expire, oldest.since + wait - performance.now()).unref();
  }

  /** When all that happens now has happened: others may be about to call, or be back from the last flight. */
  private departSoon(): void {
    if (this.leaving || !this.mayDepart()) return;
    this.leaving = true;
    setImmediate(() => {
      this.leaving = false;
      this.depart();
    });
  }

  private depart(): void {
    while (this.mayDepart()) void this.fly(this.board());
  }

  private mayDepart(): boolean {
    const { waiting, flights, late } = this;
    const most = this.options.flights ?? FLIGHTS;
    return waiting.length > 0 && flights - late < most && flights < MOST_FLIGHTS;
  }

  /** A full load, in the order of arrival. */
  private board(): Passenger<In, Out>[] {
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

  private async fly(passengers: Passenger<In, Out>[]): Promise<void> {
    this.flights += 1;
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      this.late += 1;
      this.depart();
    }, PATIENCE);
    try {
      await this.carry(passengers);
    } finally {
      clearTimeout(timer);
      this.flights -= 1;
      if (isLate) this.late -= 1;
      this.departSoon();
    }
  }

  private async carry(passengers: Passenger<In, Out>[]): Promise<void> {
    try {
      const results = await this.send(passengers.map(({ item }) => item));
      passengers.forEach(({ resolve, reject }, index) => {
        const result = results[index]!;
        if (result instanceof Failed) reject(result.error);
        else resolve(result);
      });
    } catch (error) {
      // A row that the database refuses must not take its neighbours with it.
      // A lost connection concerns all of them, and each one asks again.
      const refused = passengers.length > 1 && !isConnectionLoss(error) && !isTimeout(error);
      if (!refused) return passengers.forEach(({ reject }) => reject(error));
      await Promise.all(passengers.map((passenger) => this.carry([passenger])));
    }
  }
}

/** The statement may still be at work: sending it again would only queue up behind it. */
function isTimeout(error: unknown): boolean {
  return error instanceof StoreUnavailableError && error.cause === undefined;
}
