import { PhaseStoppedError, PhaseUsageError, type StopReason } from '../policy/phase-errors.js';
import type { Attempt } from '../keys/attempt.js';
import { noticeMisuse } from '../telemetry/misuse.js';
import { errorLine } from '../telemetry/error-line.js';
import type { OfPhase, PhaseOutcome } from '../telemetry/events.js';
import { publish } from '../telemetry/publish.js';
import { inSpan } from '../telemetry/tracing.js';
import type { OutcomeOnItsWay } from './outcome-on-its-way.js';
import { isDefinite } from './rejection.js';
import { runningPhase } from './running-phase.js';
import type { PhaseKind, PhaseRecord } from '../schema/phase-record.js';

/** Names with a special meaning in `recovery_point`. */
const RESERVED = new Set(['started', 'finished']);

/** Short enough for logs, dashboards and operators. */
const LONGEST_NAME = 100;

/** The outcome of a foreign phase that has not been recorded yet. */
export interface UnrecordedOutcome {
  name: string;
  state: 'rejected' | 'withdrawn';
  /** JSON text. */
  result: string | undefined;
}

/**
 * The phases of one request, in the order in which its handler reaches them. It
 * ensures that they run one after another, and that a resume reaches them in the
 * recorded order.
 */
export class PhaseJournal {
  private readonly recorded: readonly PhaseRecord[];
  private readonly reached: string[] = [];
  private readonly done = new Set<string>();
  private active: string | undefined;
  /** Resolves when the running phase has ended, if anybody waits for that. */
  private running: Promise<void> | undefined;
  private tellEnd: (() => void) | undefined;
  private over = false;
  private stopped: { name: string; why: StopReason } | undefined;
  /** The known outcome of a call that could not be recorded. */
  unrecorded: UnrecordedOutcome | undefined;

  /** The handler went on while the outcome of its last phase is being recorded. */
  onItsWay: OutcomeOnItsWay | undefined;

  /**
   * @param attempt undefined if the request has no key
   * @param phased nothing takes effect between the phases
   */
  constructor(
    private readonly attempt?: Attempt,
    readonly phased = false,
  ) {
    this.recorded = attempt?.recorded ?? [];
  }

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
    const startedAt = performance.now();
    const described = () => ({ ...this.attempt?.described, phase: name, kind });
    publish('phase_started', () => ({ ...described(), earlier: earlier?.state }));
    const finished = () =>
      publish('phase_finished', () => ({
        ...described(),
        outcome: earlier?.state === 'finished' ? 'recalled' : 'finished',
        duration: performance.now() - startedAt,
      }));
    const failed = (error: unknown) =>
      publish('phase_failed', () => ({
        ...described(),
        outcome: this.failureOf(name, kind, earlier, error),
        duration: performance.now() - startedAt,
        error: errorLine(error),
      }));
    this.active = name;
    try {
      const result = await inSpan(
        () => ({ name: `phase ${name}`, attributes: phaseAttributes(described()) }),
        () => {
          // Only a new foreign phase need not wait here: its intent may travel with that outcome.
          const waits = this.onItsWay && (kind === 'local' || earlier);
          return waits
            ? this.afterOutcome(() => body(this.reached.length, earlier))
            : body(this.reached.length, earlier);
        },
      );
      this.done.add(name);
      if (this.onItsWay?.phase === name) this.onItsWay.tell({ finished, failed });
      else finished();
      return result;
    } catch (error) {
      failed(error);
      // A rolled-back transaction left nothing, so it has no position in the order and may be tried
      // again. A foreign call left at least its intent.
      if (kind === 'local') this.reached.pop();
      else this.done.add(name);
      throw error;
    } finally {
      this.active = undefined;
      this.running = undefined;
      this.tellEnd?.();
    }
  }

  /**
   * The handler has ended, so no further phase may start. If a phase is running
   * that it did not await, the returned promise resolves when that has ended: if
   * an answer were recorded before, the phase could not record its own outcome, a
   * payment perhaps.
   */
  close(): Promise<void> | undefined {
    this.over = true;
    if (this.active === undefined) return undefined;
    noticeMisuse({
      code: 'phase_not_awaited',
      phase: this.active,
      message: `Phase "${this.active}" was still running when the handler had returned. Its error would reach nobody, and nothing after it can rely on it: await it.`,
    });
    this.running ??= new Promise((resolve) => {
      this.tellEnd = resolve;
    });
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
   * A call of an earlier attempt that is still in doubt, or whose known outcome
   * is not recorded, because the handler did not reach it this time, or could not
   * record it.
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
   * From now on no phase may start in this attempt. A resume runs this phase
   * again, with perhaps another outcome: nothing may depend on this one.
   */
  stopAt(name: string, why: StopReason): void {
    this.stopped = { name, why };
  }

  /** The outcome of the phase before comes first. */
  private async afterOutcome<T>(body: () => Promise<T>): Promise<T> {
    await this.onItsWay?.end();
    this.onItsWay = undefined;
    return body();
  }

  private failureOf(
    name: string,
    kind: PhaseKind,
    earlier: PhaseRecord | undefined,
    error: unknown,
  ): PhaseOutcome {
    if (this.stopped?.name === name) {
      return this.stopped.why === 'not_executed' ? 'withdrawn' : this.stopped.why;
    }
    if (earlier?.state === 'rejected') return 'recalled';
    return kind === 'foreign' && isDefinite(error) ? 'rejected' : 'failed';
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

function phaseAttributes({ phase, kind, id, attempt }: OfPhase) {
  return {
    'idempotency.phase': phase,
    'idempotency.phase.kind': kind,
    'idempotency.key.id': id,
    'idempotency.attempt': attempt,
  };
}

function list(names: readonly string[]): string {
  return names.length === 0 ? '(none)' : names.join(' → ');
}
