import { OWN_WORDS } from '../telemetry/own-words.js';
import { noticeMisuse, type MisuseCode } from '../telemetry/misuse.js';

/** `AtomicPhase` was used in a way that could not be resumed. The message says what to change. */
export class PhaseUsageError extends Error {
  constructor(message: string, options?: ErrorOptions & { code?: MisuseCode }) {
    super(message, options);
    this.name = 'PhaseUsageError';
    // Whoever catches it, the testing kit hears of it.
    noticeMisuse({ code: options?.code ?? 'phase_misused', message });
  }
}

/** Why an attempt may start no further phase. */
export type StopReason = 'in_doubt' | 'not_executed' | 'not_recorded';

const REASONS: Record<StopReason, string> = {
  in_doubt: 'it is not known whether its foreign call took effect',
  not_executed: 'its foreign call never reached the other system, and a retry will make it',
  not_recorded: 'its end could not be recorded',
};

/** A phase was started although the outcome of an earlier one of this attempt is not certain. */
export class PhaseStoppedError extends Error {
  get [OWN_WORDS](): true {
    return true;
  }

  constructor(
    readonly phase: string,
    readonly stoppedAt: string,
    readonly reason: StopReason,
  ) {
    super(
      `Phase "${phase}" was not started, because of phase "${stoppedAt}": ${REASONS[reason]}, so nothing may be built on it. ` +
        'Let its error end the request; a retry resumes there.',
    );
    this.name = 'PhaseStoppedError';
  }
}

/** The attempt has lost its lease, so nothing of this phase was kept. */
export class LeaseLostError extends Error {
  get [OWN_WORDS](): true {
    return true;
  }

  constructor(readonly phase: string) {
    super(
      `Phase "${phase}" was rolled back: this attempt has lost its lease, so another one may own the key. ` +
        'It took too long, or the database server has crashed. If this happens under normal load, use a longer lease.',
    );
    this.name = 'LeaseLostError';
  }
}

/** It is not known whether an earlier attempt's foreign call took effect, and it must not be repeated. */
export class OutcomeUnknownError extends Error {
  get [OWN_WORDS](): true {
    return true;
  }

  constructor(readonly phase: string) {
    super(
      `The outcome of the foreign call of phase "${phase}" is not known and the call may not be repeated. The key is kept as unknown until somebody finds out.`,
    );
    this.name = 'OutcomeUnknownError';
  }
}
