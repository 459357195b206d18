import type { ProcessReports, ReportedJob } from '../background/process-reports.js';
import { isReconciliation } from '../phases/reconciler.js';
import { IdempotencyConfigurationError } from '../policy/configuration-error.js';
import { refuse, type By, type Change } from '../resolution/operator-result.js';
import { answerFrom, type GivenAnswer } from '../answers/given-answer.js';
import { READ_ONLY, type Decider } from './decider.js';
import type { Decisions } from './decisions.js';
import type { ExportQueries } from './export-queries.js';
import { exportedLines } from './scope-export.js';
import type { KeyPage, KeyQuery, KeyReport } from './key-report.js';
import { isEffectKey, isId, searchOf } from './key-search.js';
import type { OperatorQueries } from './operator-queries.js';
import type { Erasure, Erasures, EraseOptions } from './erasure.js';
import type { Reencryption, ReencryptReport } from './reencryption.js';
import type { Resolution } from '../resolution/resolved-phase.js';

/** The outcome of an unknown key that has no foreign call in doubt. */
export type KeyResolution =
  /** It is finished; retries get this answer. */
  | { outcome: 'completed'; answer: GivenAnswer }
  /** It did nothing that must not happen again: a retry may run it. */
  | { outcome: 'retryable' };

/**
 * For people, and for the webhooks of other systems: finds keys, shows them, and
 * resolves what the library cannot. A decision is fenced by the state that it was
 * based on, and leaves an entry in `idempotency_audit`; a wrong or repeated one
 * changes nothing and says why.
 */
export class IdempotencyOperator {
  constructor(
    private readonly decider: Decider,
    private readonly allowed: Decisions,
    private readonly queries: OperatorQueries,
    private readonly exports: ExportQueries,
    private readonly processes: ProcessReports,
    private readonly erasures: Erasures,
    /** Undefined if nothing is sealed here. */
    private readonly reencryption: Reencryption | undefined,
    /** The process only reads. */
    private readonly readOnly = false,
  ) {}

  /** Keys by status, scope, key, effect key, id, route or age, oldest first, a page at a time. */
  async find(query: KeyQuery = {}): Promise<KeyPage> {
    return this.queries.find(searchOf(query));
  }

  /** One key with its phases, its audit and its timeline. */
  async inspect(id: string): Promise<KeyReport | undefined> {
    return isId(id) ? this.queries.inspect(id) : undefined;
  }

  /**
   * Everything that is stored of a scope (keys, phases, messages, audit) as JSON
   * Lines, one text for each line. It is read page by page as it is consumed, so
   * memory stays bounded: `Readable.from(operator.export(scope)).pipe(file)`.
   */
  export(scope: string): AsyncGenerator<string, void, undefined> {
    if (typeof scope !== 'string') {
      throw new TypeError(
        `scope is of type ${typeof scope}. Use the text of a scope; a number stands for its decimal text.`,
      );
    }
    return exportedLines(this.exports, scope);
  }

  /**
   * Resolves a foreign call that is in doubt. `executed`: the next attempt
   * continues with the result, as if the call had returned it. `rejected`: the
   * call throws the exception. `not_executed`: the next attempt makes the call
   * again, under the same effect key. Evidence overrides a withdrawn intent, but
   * never a recorded outcome.
   */
  async resolve(effectKey: string, resolution: Resolution, by: By): Promise<Change> {
    if (!isEffectKey(effectKey)) {
      return refuse(
        'invalid',
        `${JSON.stringify(effectKey)} is not an effect key: effect keys are UUIDs.`,
      );
    }
    const { outcome } = (resolution ?? {}) as { outcome?: unknown };
    if (!isReconciliation(resolution) || outcome === 'unknown') {
      return refuse(
        'invalid',
        "Use { outcome: 'executed', result }, { outcome: 'rejected', error } with an HttpException, or { outcome: 'not_executed' }.",
      );
    }
    return this.decider.ofCall(effectKey, by, this.allowed.resolve(resolution));
  }

  /**
   * Resolves an unknown key that has no foreign call in doubt, such as one of a
   * plain handler whose process died.
   */
  async resolveKey(id: string, resolution: KeyResolution, by: By): Promise<Change> {
    const { outcome } = resolution ?? {};
    if (outcome !== 'completed' && outcome !== 'retryable') {
      return refuse(
        'invalid',
        "Use { outcome: 'completed', answer: { status, body } } or { outcome: 'retryable' }.",
      );
    }
    const answer = resolution.outcome === 'completed' ? answerFrom(resolution.answer) : undefined;
    if (typeof answer === 'string')
      return refuse('invalid', `The answer cannot be used: ${answer}`);
    return this.decider.ofKey(id, by, this.allowed.resolveKey(answer));
  }

  /**
   * Makes the jobs try again now, beyond their limits: the completer resumes an
   * operation that it gave up, the reconciler asks again.
   */
  async retry(id: string, by: By): Promise<Change> {
    return this.decider.ofKey(id, by, this.allowed.retry);
  }

  /** Removes a finished key with its answer, so that its next use is a new operation. */
  async evict(id: string, by: By): Promise<Change> {
    return this.decider.ofKey(id, by, this.allowed.evict);
  }

  /**
   * Expires a key early. A finished one becomes a tombstone, which answers 410;
   * an open one is closed with 408, as if its client had not come back.
   */
  async expire(id: string, by: By): Promise<Change> {
    return this.decider.ofKey(id, by, this.allowed.expire);
  }

  /**
   * Keeps a key, with its answer and its phases, until `releaseHold()`: it is
   * neither removed nor closed, and a retry gets its answer however late it comes.
   * Any key can be held, also one that runs.
   */
  async hold(id: string, by: By): Promise<Change> {
    return this.decider.ofKey(id, by, this.allowed.hold);
  }

  /** Ends a hold. A key that is past its retention goes with the reaper's next round. */
  async releaseHold(id: string, by: By): Promise<Change> {
    return this.decider.ofKey(id, by, this.allowed.releaseHold);
  }

  /**
   * Erases a scope: deletes the data key with which everything of it was sealed,
   * so that none of it can be read any more. Its keys become tombstones and answer
   * 410; another process that knows the data key forgets it within
   * `encryption.dataKeyCache.maxAge`. A new request of the scope gets a new data
   * key.
   *
   * It is refused while a key is held; and while a key is not finished or a message
   * is not delivered, unless it is forced: then what is lost is in the result and in
   * the audit. A request that runs meanwhile loses its lease and gets 409.
   *
   * Write-ahead logs and older backups still hold the wrapped data key: whoever has
   * one of them and the master key can read the scope in it. To end that, rotate
   * the master key (`reencrypt()`) and destroy the old one. Scope, key, route,
   * topic and ordering key are not sealed; do not put personal data there.
   */
  async erase(scope: string, by: By, options: EraseOptions = {}): Promise<Erasure> {
    if (this.readOnly) return { ...READ_ONLY, erased: false, open: { keys: [], messages: [] } };
    return this.erasures.erase(scope, by, options);
  }

  /**
   * Wraps all data keys with the first master key of `encryption.keys`, and seals
   * what is still plaintext. Run it after each rotation, before the old master key
   * is removed, and once after encryption was turned on, before `plaintextUntil`.
   * It works row by row beside requests, and can be interrupted and run again.
   */
  async reencrypt(): Promise<ReencryptReport> {
    if (this.reencryption) return this.reencryption.run();
    throw new IdempotencyConfigurationError(
      'reencrypt(): there is nothing to seal with. Give forRoot() the encryption option, without seal: false.',
    );
  }

  /**
   * What the jobs of all processes are doing; one that fails shows how often and
   * why. `Maintenance.status` has those of this process alone, without a statement.
   */
  async jobs(): Promise<ReportedJob[]> {
    return this.processes.jobs();
  }
}
