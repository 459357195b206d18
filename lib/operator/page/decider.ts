import { Logger } from '@nestjs/common';
import { refuse, type Change, type SeenByPerson } from '../../resolution/operator-result.js';
import type { IdempotencyOperator } from '../idempotency-operator.js';
import type { KeyReport, KeySummary } from '../key-report.js';
import { whyOf, type Decision, type ReasonedDecision } from './decision.js';
import type { PageAccess } from './page-access.js';
import type { OperatorIntent } from './page.options.js';
import type { PhaseTarget } from './prediction.js';

/** One key to decide about, as a person saw it. */
export interface DecidedKey {
  key: KeySummary;
  /** The foreign call that a resolution is about. */
  effectKey: string | undefined;
  seen: SeenByPerson;
}

/** The result; `forbidden` if this person may not do this to this key. */
export type Decided = Change | { changed: false; reason: 'forbidden'; detail: string };

/**
 * Carries decisions out. Each key is authorised by itself, right before it is
 * changed, also in bulk.
 */
export class Decider {
  private readonly logger = new Logger('IdempotencyOperatorPage');

  constructor(
    private readonly operator: IdempotencyOperator,
    private readonly access: PageAccess,
  ) {}

  async decide(
    request: unknown,
    { key, effectKey, seen }: DecidedKey,
    reasoned: ReasonedDecision,
  ): Promise<Decided> {
    const { decision } = reasoned;
    const who = await this.access.authorise(request, intentFor(key, decision));
    if (who === undefined) {
      return {
        changed: false,
        reason: 'forbidden',
        detail: `You may not ${decision.action} this key.`,
      };
    }
    const by = { who, why: whyOf(reasoned), seen };
    const change = await this.write(key.id, effectKey, decision, by);
    if (change.changed) this.logger.log(`${who}: ${decision.action} of key ${key.id}`);
    return change;
  }

  private write(
    id: string,
    effectKey: string | undefined,
    decision: Decision,
    by: { who: string; why: string; seen: SeenByPerson },
  ): Promise<Change> {
    switch (decision.action) {
      case 'resolve':
        if (decision.of === 'key') return this.operator.resolveKey(id, decision.resolution, by);
        if (effectKey === undefined) {
          return Promise.resolve(
            refuse('not_in_doubt', 'No foreign call of this key is in doubt.'),
          );
        }
        return this.operator.resolve(effectKey, decision.resolution, by);
      case 'retry':
        return this.operator.retry(id, by);
      case 'expire':
        return this.operator.expire(id, by);
      case 'evict':
        return this.operator.evict(id, by);
      case 'hold':
        return this.operator.hold(id, by);
      case 'release_hold':
        return this.operator.releaseHold(id, by);
    }
  }
}

export function intentFor(key: KeySummary, { action }: Pick<Decision, 'action'>): OperatorIntent {
  const { id, scope, endpoint, key: name, route } = key;
  return { action, key: { id, scope, endpoint, key: name, route } };
}

/** The call under an effect key, if it is one of this key's. */
export function phaseOf(report: KeyReport, effectKey: string | undefined): PhaseTarget | undefined {
  const phase = report.phases.find((each) => each.effectKey === effectKey);
  if (!phase || effectKey === undefined) return undefined;
  const { name, state, keyValidUntil } = phase;
  return { name, state, effectKey, keyValidUntil };
}
