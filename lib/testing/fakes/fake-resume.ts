import { HttpException } from '@nestjs/common';
import { phaseResult } from '../../phases/phase-result.js';
import { rejectionOf } from '../../phases/rejection.js';
import { PhaseUsageError } from '../../policy/phase-errors.js';
import { toJson } from '../../schema/json.js';
import type { PhaseKind, PhaseRecord } from '../../schema/phase-record.js';
import { emptyRecord } from './memory/memory-phases.js';

/** What an earlier attempt is to have left. */
export interface FakeResume {
  /**
   * The results of the phases that are finished, in their order; `undefined` for
   * one that returned nothing, an HttpException for a call that was rejected with
   * it. None of them runs.
   */
  results?: Record<string, unknown>;
  /** The call of the phase was begun, and its outcome is not recorded: `inDoubt` of the phase decides. */
  inDoubt?: boolean;
  /** With `inDoubt`: `keyValidFor` of the phase has passed. */
  keyForgotten?: boolean;
}

/** The kind shows when the phase is reached: nobody has to say it in a test. */
const NOT_YET_KNOWN = undefined as unknown as PhaseKind;

/** The phases that a resume finds on record, and the one it goes on with. */
export class FakeResumePoint {
  readonly records: PhaseRecord[];
  private readonly left: Set<string>;
  private arrived = false;

  constructor(
    private readonly phase: string,
    { results = {}, inDoubt = false, keyForgotten = false }: FakeResume,
    newEffectKey: (phase: string) => string,
  ) {
    this.records = Object.entries(results).map(([name, result], index) => ({
      ...emptyRecord({ name, position: index + 1, kind: NOT_YET_KNOWN }),
      ...endedWith(name, result),
    }));
    this.left = new Set(Object.keys(results));
    if (!inDoubt) return;
    if (this.left.has(phase)) {
      throw new PhaseUsageError(
        `resumeAt('${phase}', { inDoubt: true }): results has "${phase}" as well. A call that is in doubt has no result; leave it out.`,
      );
    }
    this.records.push({
      ...emptyRecord({ name: phase, position: this.records.length + 1, kind: NOT_YET_KNOWN }),
      state: 'intended',
      effectKey: newEffectKey(phase),
      inDoubt: 'stop',
      keyForgotten,
    });
  }

  /** The name of the last finished phase. */
  get recoveryPoint(): string {
    const finished = this.records.filter(({ state }) => state === 'finished');
    return finished.at(-1)?.name ?? 'started';
  }

  /** A phase is about to start: it is on record, or the one to go on with, or a mistake of the test. */
  reach(
    { name: phase, kind, request }: { name: string; kind: PhaseKind; request?: unknown },
    recorded: readonly PhaseRecord[],
  ): void {
    for (const record of [...this.records, ...recorded]) {
      if (record.name !== phase || record.kind !== NOT_YET_KNOWN) continue;
      Object.assign(record, { kind, request: toJson(request, `The request of phase "${phase}"`) });
    }
    const wasRecorded = this.left.delete(phase);
    if (wasRecorded || this.arrived || phase === this.phase) {
      this.arrived ||= phase === this.phase;
      return;
    }
    // The journal says it where phases are on record that were not reached.
    if (this.left.size > 0) return;
    throw new PhaseUsageError(
      `FakeAtomicPhase was told to resume at "${this.phase}", but phase "${phase}" comes before it, and there is no result for it. ` +
        `Add it: resumeAt('${this.phase}', { results: { ${phase}: … } }), with undefined if it returns nothing.`,
    );
  }
}

function endedWith(phase: string, result: unknown): Pick<PhaseRecord, 'state' | 'result'> {
  return result instanceof HttpException
    ? { state: 'rejected', result: rejectionOf(result, `The rejection of phase "${phase}"`) }
    : { state: 'finished', result: phaseResult(phase, result) };
}
