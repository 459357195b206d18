import type { Maintenance } from '../../background/maintenance.js';
import type { ProcessReports } from '../../background/process-reports.js';
import { NoReplayCache } from '../../keys/replay-cache.js';
import { Decider } from '../../operator/decider.js';
import { Decisions } from '../../operator/decisions.js';
import { IdempotencyOperator, type KeyResolution } from '../../operator/idempotency-operator.js';
import type { ExportQueries } from '../../operator/export-queries.js';
import type { Erasure, Erasures } from '../../operator/erasure.js';
import type { OperatorQueries } from '../../operator/operator-queries.js';
import type { ReencryptReport } from '../../operator/reencryption.js';
import { refuse, type By, type Change } from '../../resolution/operator-result.js';
import type { ResolutionQueries } from '../../resolution/resolution-queries.js';
import type { ResolutionStore } from '../../resolution/resolution-store.js';
import type { Resolution } from '../../resolution/resolved-phase.js';

/** A decision that the code under test has made. */
export interface FakeDecision {
  action:
    'resolve' | 'resolveKey' | 'retry' | 'evict' | 'expire' | 'hold' | 'releaseHold' | 'erase';
  /** The effect key for `resolve`, the scope for `erase`, the id of the key for the others. */
  about: string;
  resolution?: Resolution | KeyResolution;
  by: By;
}

/**
 * An `IdempotencyOperator` for unit tests, such as those of a webhook: it knows
 * no keys, checks its arguments as the real one does, and keeps what was decided.
 */
export class FakeIdempotencyOperator extends IdempotencyOperator {
  /** What was decided, in order. */
  readonly decisions: FakeDecision[] = [];
  /** What a decision gets that is well formed. @default refused as `not_found` */
  change: Change | undefined;
  /** What an erasure gets. @default refused as `not_found` */
  erasure: Erasure | undefined;

  constructor() {
    const seen = {
      key: async () => undefined,
      effect: async () => undefined,
    } satisfies Pick<ResolutionQueries, 'key' | 'effect'>;
    super(
      new Decider(
        seen as unknown as ResolutionQueries,
        new NoReplayCache(),
        { wake: () => undefined } as unknown as Maintenance,
        false,
      ),
      new Decisions({} as ResolutionStore, { status: 408, headers: {}, body: Buffer.alloc(0) }),
      {
        find: async () => ({ keys: [], next: undefined }),
        inspect: async () => undefined,
      } as unknown as OperatorQueries,
      { async *pages() {} } as unknown as ExportQueries,
      { jobs: async () => [] } as unknown as ProcessReports,
      {} as Erasures,
      undefined,
    );
  }

  override resolve(effectKey: string, resolution: Resolution, by: By): Promise<Change> {
    const decision = { action: 'resolve', about: effectKey, resolution, by } as const;
    return this.note(decision, super.resolve(effectKey, resolution, by));
  }

  override resolveKey(id: string, resolution: KeyResolution, by: By): Promise<Change> {
    const decision = { action: 'resolveKey', about: id, resolution, by } as const;
    return this.note(decision, super.resolveKey(id, resolution, by));
  }

  override retry(id: string, by: By): Promise<Change> {
    return this.note({ action: 'retry', about: id, by }, super.retry(id, by));
  }

  override evict(id: string, by: By): Promise<Change> {
    return this.note({ action: 'evict', about: id, by }, super.evict(id, by));
  }

  override expire(id: string, by: By): Promise<Change> {
    return this.note({ action: 'expire', about: id, by }, super.expire(id, by));
  }

  override hold(id: string, by: By): Promise<Change> {
    return this.note({ action: 'hold', about: id, by }, super.hold(id, by));
  }

  override releaseHold(id: string, by: By): Promise<Change> {
    return this.note({ action: 'releaseHold', about: id, by }, super.releaseHold(id, by));
  }

  override async erase(scope: string, by: By): Promise<Erasure> {
    this.decisions.push({ action: 'erase', about: scope, by });
    if (this.erasure) return this.erasure;
    const refused = refuse('not_found', 'Nothing is sealed for this scope, so nothing was erased.');
    return { ...refused, erased: false, open: { keys: [], messages: [] } };
  }

  override async reencrypt(): Promise<ReencryptReport> {
    return { rewrapped: 0, sealed: 0, left: 0, unreadable: 0 };
  }

  private async note(decision: FakeDecision, real: Promise<Change>): Promise<Change> {
    this.decisions.push(decision);
    const change = await real;
    const malformed = !change.changed && change.reason === 'invalid';
    return malformed ? change : (this.change ?? change);
  }
}
