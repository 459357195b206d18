import { randomUUID } from 'node:crypto';
import { Logger, ServiceUnavailableException } from '@nestjs/common';
import { faultPoint, type FaultStep } from '../faults/fault-points.js';
import type { Attempt } from '../keys/attempt.js';
import { LeaseLostError } from '../policy/phase-errors.js';
import {
  isConnectionLoss,
  isLockTimeout,
  isSerializationConflict,
} from '../postgres/database-errors.js';
import { persist } from '../postgres/retries.js';
import { StoreUnavailableError } from '../postgres/store-unavailable.error.js';
import { fromJson } from '../schema/json.js';
import type { PhaseRecord } from '../schema/phase-record.js';
import { errorLine } from '../telemetry/error-line.js';
import type { ForeignPhase } from './foreign-phase.js';
import type { PhaseBatches } from './phase-batches.js';
import type { Intent, RecordedEntry } from './phase-store.js';
import type { PhasePlace } from './phase-transactions.js';

/** What intents are recorded with. */
export interface IntentTools {
  batches: Pick<PhaseBatches, 'record'>;
  /** For a call that no earlier attempt has begun. @default a random one */
  newEffectKey?: (place: PhasePlace) => string;
}

/**
 * What is committed before a foreign call, in each attempt that makes it: that it
 * will be made, with which request and under which effect key.
 */
export class ForeignIntent {
  private static readonly logger = new Logger('AtomicPhase');
  readonly effectKey: string;
  /** When the call was made, on the database's clock; of several, the last one. */
  startedAt: Date | undefined;

  constructor(
    private readonly tools: IntentTools,
    private readonly place: PhasePlace,
    private readonly phase: Pick<ForeignPhase<unknown>, 'inDoubt'>,
    private readonly request: string | undefined,
    private readonly keyValidFor: number | null,
    private readonly earlier: PhaseRecord | undefined,
  ) {
    this.effectKey = earlier?.effectKey ?? tools.newEffectKey?.(place) ?? randomUUID();
    this.startedAt = earlier?.startedAt;
  }

  /** As it was stored with the first intent, also on a repeat. */
  get storedRequest(): unknown {
    return fromJson(this.earlier ? this.earlier.request : this.request);
  }

  /** Throws if it is not on record, and then the call must not be made. */
  async commit(): Promise<void> {
    const { attempt } = this.place;
    if (!attempt) return;
    const before = this.reach('before_intent', attempt);
    if (before) await before;
    const sent = performance.now();
    await this.commitOnce(attempt);
    const after = this.reach('after_intent', attempt);
    if (after) await after;
    // A process that stalled meanwhile may have lost the key, and somebody may have been told that
    // this call was never made. So it checks again.
    if (performance.now() - sent >= attempt.lease) await this.commitOnce(attempt);
  }

  private async commitOnce(attempt: Attempt): Promise<void> {
    const { journal, name, position } = this.place;
    const { effectKey, request, keyValidFor } = this;
    const { inDoubt = 'stop' } = this.phase;
    const intent: Intent = {
      attempt,
      name,
      position,
      kind: 'foreign',
      state: 'intended',
      effectKey,
      inDoubt,
      keyValidFor,
      request,
    };
    const { onItsWay } = journal;
    journal.onItsWay = undefined;
    const intended = (await onItsWay?.carry(intent)) ?? (await this.commitAlone(attempt, intent));
    if (!intended) {
      attempt.loseLease();
      throw new LeaseLostError(name);
    }
    this.startedAt = intended.startedAt ?? undefined;
  }

  private commitAlone(attempt: Attempt, intent: Intent): Promise<RecordedEntry | undefined> {
    // Repeating it is harmless: the same attempt writes the same intent.
    return persist(
      () => this.tools.batches.record(intent),
      {
        within: attempt.lease,
        again: (error) =>
          isConnectionLoss(error) || isSerializationConflict(error) || isLockTimeout(error),
      },
      (error) => {
        throw this.unrecorded(error);
      },
    );
  }

  private unrecorded(error: unknown): unknown {
    const { journal, name } = this.place;
    journal.stopAt(name, 'not_recorded');
    ForeignIntent.logger.error(
      `The intent of phase "${name}" could not be recorded, so its call was not made: ${errorLine(error)}`,
    );
    return error instanceof StoreUnavailableError
      ? new ServiceUnavailableException('The next step could not be recorded and was not begun.', {
          cause: error,
        })
      : error;
  }

  /** A promise has to be awaited. */
  private reach(step: FaultStep, attempt: Attempt): Promise<void> | undefined {
    const { effectKey, place } = this;
    return faultPoint(step, attempt, { name: place.name, effectKey, callFailed: false });
  }
}
