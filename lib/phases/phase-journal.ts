import { PhaseStoppedError, PhaseUsageError, type StopReason } from '../policy/phase-errors.js';
import { debug } from '../telemetry/debug-log.js';
import { errorLine } from '../telemetry/error-line.js';
import { runningPhase } from './running-phase.js';
import type { PhaseKind, PhaseRecord } from '../schema/phase-record.js';

/** Names with a meaning of their own in `recovery_point`. */
const RESERVED = new Set(['started', 'finished']);

/** Fits the column's readers: logs, dashboards, operators. */
const LONGEST_NAME = 100;

/** How a foreign phase ended, where only the database does not know it yet. */
export interface UnrecordedEnd {
  name: string;
  state: 'rejected' | 'withdrawn';
  /** JSON text. */
  result: string | undefined;
}

/**
 * The phases of one request, in the order in which its handler reaches them.
 * It sees to it that they run one after another, and that a resume takes the
 * road that was recorded.
 */
export class PhaseJournal {
  private readonly reached: string[] = [];
  private readonly done = new Set<string>();
  private active: string | undefined;
  private running: Promise<void> | undefined;
  private over = false;
  private stopped: { name: string; why: StopReason } | undefined;
  /** The end of a call that is known and could not be recorded. */
  unrecorded: UnrecordedEnd | undefined;

  /** @param keyId the key's row, for the debug log */
  constructor(
    private readonly recorded: readonly PhaseRecord[] = [],
    private readonly keyId = '(none)',
  ) {}

  /**
   * Runs one phase. `body` gets the phase's position and what an earlier
   * attempt recorded of it.
   */
  async run<T>(
    name: string,
    kind: PhaseKind,
    body: (position: number, earlier: PhaseRecord | undefined) => Promise<T>,
  ): Promise<T> {
    const earlier = this.enter(name, kind);
    if (debug.enabled) debug('key %s: phase %s %s', this.keyId, name, beginning(earlier));
    let ended!: () => void;
    this.active = name;
    this.running = new Promise((resolve) => (ended = resolve));
    try {
      const result = await body(this.reached.length, earlier);
      this.done.add(name);
      if (debug.enabled) debug('key %s: phase %s ends', this.keyId, name);
      return result;
    } catch (error) {
      if (debug.enabled) debug('key %s: phase %s fails: %s', this.keyId, name, errorLine(error));
      // A rolled-back transaction left nothing, so it takes no place in the order
      // and may be tried again. A foreign call left its intent at least.
      if (kind === 'local') this.reached.pop();
      else this.done.add(name);
      throw error;
    } finally {
      this.active = undefined;
      this.running = undefined;
      ended();
    }
  }

  /**
   * The handler is through, so no further phase may start. Where one runs that
   * it did not wait for, what is returned resolves when that is over: an answer
   * recorded meanwhile would leave the phase's outcome, a payment perhaps,
   * without an owner.
   */
  close(): Promise<void> | undefined {
    this.over = true;
    return this.running;
  }

  get closed(): boolean {
    return this.over;
  }

  /** A phase is running. */
  get busy(): boolean {
    return this.active !== undefined;
  }

  /**
   * A call of an earlier attempt whose outcome is still open, or known and not
   * acted upon, because the handler took another way this time, or could not
   * record what it found out.
   */
  get leftInDoubt(): string | undefined {
    const unsettled = this.stopped?.why === 'not_recorded' ? this.stopped.name : undefined;
    return this.recorded.find(
      ({ name, state }) =>
        (state === 'intended' || state === 'reconciled') &&
        (!this.done.has(name) || name === unsettled),
    )?.name;
  }

  /**
   * From here on no phase may start in this attempt. A resume runs this phase
   * again, and it may end differently then: nothing may be built on this end.
   */
  stopAt(name: string, why: StopReason): void {
    this.stopped = { name, why };
  }

  private enter(name: string, kind: PhaseKind): PhaseRecord | undefined {
    if (this.stopped) throw new PhaseStoppedError(name, this.stopped.name, this.stopped.why);
    this.checkName(name);
    this.checkAlone(name);
    const earlier = this.recorded[this.reached.length];
    if (earlier && (earlier.name !== name || earlier.kind !== kind)) {
      throw new PhaseUsageError(
        `Phase "${name}" (${kind}) cannot start: an earlier attempt of this request recorded other phases here, and a resume has to take the same road. ` +
          (earlier.name === name ? `It was recorded as ${earlier.kind}. ` : '') +
          `Recorded: ${list(this.recorded.map((phase) => phase.name))}. Reached now: ${list([...this.reached, name])}. ` +
          'Phases must not be renamed, reordered or made conditional while requests that began before can still be retried.',
      );
    }
    this.reached.push(name);
    return earlier;
  }

  private checkName(name: string): void {
    if (typeof name !== 'string' || name === '' || name.length > LONGEST_NAME) {
      throw new PhaseUsageError(
        `A phase needs a name of 1 to ${LONGEST_NAME} characters, such as 'charge_created'; it got ${JSON.stringify(name)}.`,
      );
    }
    if (RESERVED.has(name)) {
      throw new PhaseUsageError(
        `"${name}" is the name of the recovery point at which every request ${name === 'started' ? 'begins' : 'ends'}. Name the phase after what it achieves, such as 'ride_created'.`,
      );
    }
    if (this.done.has(name)) {
      throw new PhaseUsageError(
        `Phase "${name}" was already used in this request. A resume finds phases by name, so each needs its own; in a loop, add the item's number.`,
      );
    }
  }

  private checkAlone(name: string): void {
    const inside = runningPhase.current;
    if (inside && inside.journal === this) {
      throw new PhaseUsageError(
        `Phase "${name}" was started inside phase "${inside.name}". A phase is one transaction or one foreign call; end the first one before the next begins.`,
      );
    }
    if (this.active !== undefined) {
      throw new PhaseUsageError(
        `Phase "${name}" was started while phase "${this.active}" is running. Phases run one after another, because a resume has to know which came first: await each one (no Promise.all).`,
      );
    }
  }
}

function beginning(earlier: PhaseRecord | undefined): string {
  return earlier ? `was ${earlier.state} by an earlier attempt` : 'begins';
}

function list(names: readonly string[]): string {
  return names.length === 0 ? '(none)' : names.join(' → ');
}
