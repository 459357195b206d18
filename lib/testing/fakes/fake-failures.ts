import type { PhaseKind } from '../../schema/phase-record.js';
import { PhaseUsageError } from '../../policy/phase-errors.js';

/** How a phase is to fail. */
export interface FakeFailure {
  /**
   * `before`: the phase does not begin. `in`: the work of a local phase runs and
   * is rolled back; the call of a foreign phase throws `error` instead of being
   * made. `after`: the phase is on record, and nothing after it happens.
   * `unknown`: the call of a foreign phase is made and its answer is lost, so its
   * outcome is in doubt.
   * @default 'in'
   */
  when?: 'before' | 'in' | 'after' | 'unknown';
  /** @default a FakePhaseError */
  error?: unknown;
}

/** What a phase fails with that was told to, if it was not told with what. */
export class FakePhaseError extends Error {
  constructor(
    readonly phase: string,
    when: NonNullable<FakeFailure['when']>,
  ) {
    const what = when === 'unknown' ? 'lost the answer of its call' : `failed (${when})`;
    super(`Phase "${phase}" ${what}, because failAt() of FakeAtomicPhase said so.`);
    this.name = 'FakePhaseError';
  }
}

/** What phases were told to fail, each of them once. */
export class FakeFailures {
  private readonly planned = new Map<string, Required<FakeFailure>>();

  add(phase: string, { when = 'in', error }: FakeFailure): void {
    this.planned.set(phase, { when, error: error ?? new FakePhaseError(phase, when) });
  }

  /** Throws what the phase is to fail with at this point, if that is the point. */
  reach(phase: string, kind: PhaseKind, at: NonNullable<FakeFailure['when']>): void {
    const failure = this.planned.get(phase);
    if (failure?.when === 'unknown' && kind === 'local') {
      throw new PhaseUsageError(
        `failAt('${phase}', { when: 'unknown' }) was said of a local phase. Its transaction is committed or it is not; use 'in' or 'after'. Only the outcome of a foreign call can be unknown.`,
      );
    }
    if (failure?.when !== at) return;
    this.planned.delete(phase);
    throw failure.error;
  }

  clear(): void {
    this.planned.clear();
  }

  /** A test whose failure did not happen would show nothing. */
  assertReached(reached: readonly string[]): void {
    const [phase] = this.planned.keys();
    if (phase === undefined) return;
    throw new PhaseUsageError(
      `failAt('${phase}') did not happen: no such point was reached. Phases reached: ${reached.join(', ') || '(none)'}. Correct the name, or call reset().`,
    );
  }
}
