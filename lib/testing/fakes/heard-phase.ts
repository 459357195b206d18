import type { Attempt } from '../../keys/attempt.js';
import { onIdempotencyEvent } from '../../telemetry/publish.js';
import type { OfPhase, PhaseOutcome } from '../../telemetry/events.js';
import type { PhaseKind } from '../../schema/phase-record.js';

/** One phase as it was reached by the code under test. */
export interface FakePhase {
  name: string;
  kind: Extract<PhaseKind, 'local' | 'foreign'>;
  /** 1 for the first run of a request, +1 for each retry. */
  attempt: number;
  /** `recalled`: it returned what was on record, and did nothing. */
  outcome: PhaseOutcome | 'running';
  /** What it returned. */
  result?: unknown;
  /** What it threw. */
  error?: unknown;
  /** Of a foreign phase. */
  request?: unknown;
  /** Of a foreign phase: what its call got. */
  effectKey?: string | undefined;
}

/** Writes into `phases` what the journal tells of one phase, so that outcomes have the same names as in metrics. */
export function hearPhase(
  { name, kind, request, effectKey }: Pick<FakePhase, 'name' | 'kind' | 'request' | 'effectKey'>,
  attempt: Attempt | undefined,
  phases: FakePhase[],
) {
  const heard: FakePhase = { name, kind, attempt: attempt?.number ?? 1, outcome: 'running' };
  if (kind === 'foreign') Object.assign(heard, { request, effectKey });
  let begun = false;
  const isThis = (event: OfPhase) => event.phase === name && event.id === attempt?.id;
  const ended = (event: OfPhase & { outcome: PhaseOutcome }) => {
    if (begun && isThis(event)) heard.outcome = event.outcome;
  };

  return {
    /** False: the phase was refused. */
    get begun(): boolean {
      return begun;
    },

    async during<T>(run: () => Promise<T>): Promise<T> {
      const forgetEnd = [
        onIdempotencyEvent('phase_finished', ended),
        onIdempotencyEvent('phase_failed', ended),
      ];
      // It begins before `run` returns, or never.
      const forgetStart = onIdempotencyEvent('phase_started', (event) => {
        if (!isThis(event)) return;
        begun = true;
        phases.push(heard);
      });
      try {
        const running = run();
        forgetStart();
        const result = await running;
        if (result !== undefined) heard.result = result;
        return result;
      } catch (error) {
        if (begun) heard.error = error;
        throw error;
      } finally {
        for (const forget of [forgetStart, ...forgetEnd]) forget();
      }
    },
  };
}
