import type { LastPhase, PhaseOnItsWay } from '../keys/last-phase.js';
import { StoreUnavailableError } from '../postgres/store-unavailable.error.js';
import { storedResult, type EndedPhase, type Intent, type RecordedEntry } from './phase-store.js';

/** A larger request or result travels by itself, so that statements stay as small as the batches plan them. */
const LARGE = 16 * 1024;

type Recorded = RecordedEntry | undefined;

interface Listener {
  finished(): void;
  failed(error: unknown): void;
}

/**
 * The outcome of a foreign phase that is recorded while its handler goes on.
 *
 * On a phased route nothing takes effect between two phases, so nobody depends on
 * the outcome until the next phase begins or the answer is recorded, and both wait
 * for it. It is sent as early as without that. But if the handler has reached its
 * next foreign phase, or its end, before the statement has left, the two travel
 * together: the intent of that phase joins this statement, or the outcome of the
 * attempt takes this one along.
 */
export class OutcomeOnItsWay implements PhaseOnItsWay {
  /** The intent that joined it. */
  next: Intent | undefined;
  settled!: Promise<void>;

  /** Why it was not recorded. */
  private failure: { error: unknown } | undefined;
  private listener: Listener | undefined;
  private entry: EndedPhase | undefined;
  /** Its own statement, until that leaves. */
  private waiting: Promise<Recorded> | undefined;
  /** It is recorded with the outcome of its attempt. */
  private isTaken = false;
  private resolve!: (recorded: Recorded) => void;
  private reject!: (error: unknown) => void;

  constructor(readonly phase: string) {}

  /**
   * @param recorded resolves when it is recorded
   * @param notRecorded gives the error for whoever waits for it
   */
  follow(recorded: Promise<unknown>, notRecorded: (error: unknown) => unknown): void {
    this.settled = recorded.then(
      () => this.listener?.finished(),
      (error: unknown) => {
        this.failure = { error: notRecorded(error) };
        this.listener?.failed(this.failure.error);
      },
    );
  }

  /** Tells how it ended, before anybody who waits for it goes on. */
  tell(listener: Listener): void {
    this.listener = listener;
    if (this.failure) listener.failed(this.failure.error);
  }

  /** Its statement waits to be sent. The result is that of the statement that it was sent with. */
  wait(entry: EndedPhase, statement: Promise<Recorded>): Promise<Recorded> {
    this.entry = entry;
    this.waiting = statement;
    return new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
      statement.then(
        (recorded) => this.isTaken || resolve(recorded),
        (error: unknown) => this.isTaken || reject(error as Error),
      );
    });
  }

  /** Its statement leaves, so nothing can join it any more. False: it has left with another one. */
  leave(): boolean {
    this.waiting = undefined;
    return !this.isTaken;
  }

  /** Resolves when it is recorded, and throws if it was not. */
  async end(): Promise<void> {
    await this.settled;
    if (this.failure) throw this.failure.error;
  }

  /**
   * Takes the intent of the next phase along. Undefined: it has to be recorded by
   * itself, and now it can be.
   */
  async carry(intent: Intent): Promise<Recorded> {
    const { waiting } = this;
    let recorded: Recorded;
    if (waiting && !isLarge(intent.request)) {
      this.next = intent;
      try {
        recorded = await waiting;
      } catch {
        // The outcome is tried again, and then this intent.
      }
    }
    await this.end();
    return this.next === intent ? recorded : undefined;
  }

  take(): LastPhase | undefined {
    const { entry, waiting } = this;
    if (!entry || !waiting || isLarge(entry.result)) return undefined;
    this.waiting = undefined;
    this.isTaken = true;
    return { name: entry.name, result: storedResult(entry) };
  }

  taken(recorded: boolean): void {
    this.resolve(recorded ? { startedAt: null } : undefined);
  }

  /** As after a lost connection, it is looked for, and then recorded by itself. */
  giveBack(cause: unknown): void {
    this.reject(
      new StoreUnavailableError('The answer could not be recorded with the last phase.', { cause }),
    );
  }
}

function isLarge(json: string | undefined): boolean {
  return json !== undefined && json.length > LARGE;
}
