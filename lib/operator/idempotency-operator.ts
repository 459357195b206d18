import type { Maintenance } from '../background/maintenance.js';
import type { ProcessReports, ReportedJob } from '../background/process-reports.js';
import type { ReplayCache } from '../keys/replay-cache.js';
import { isReconciliation } from '../phases/reconciler.js';
import type { Answer } from '../answers/answer.js';
import { IdempotencyConfigurationError } from '../policy/configuration-error.js';
import {
  actorOf,
  refuse,
  type By,
  type Change,
  type Refused,
} from '../resolution/operator-result.js';
import { answerFrom, type GivenAnswer } from '../answers/given-answer.js';
import type { ExportQueries } from './export-queries.js';
import { exportedLines } from './scope-export.js';
import type { KeyPage, KeyQuery, KeyReport } from './key-report.js';
import { isEffectKey, isId, searchOf } from './key-search.js';
import type { OperatorQueries } from './operator-queries.js';
import type { Erasure, Erasures, EraseOptions } from './erasure.js';
import type { Reencryption, ReencryptReport } from './reencryption.js';
import {
  stateOf,
  type ResolutionQueries,
  type SeenForDecision,
} from '../resolution/resolution-queries.js';
import type { Actor, ResolutionStore, Written } from '../resolution/resolution-store.js';
import {
  changedSince,
  doubtful,
  isFinished,
  isOutdated,
  kept,
  running,
  unresolved,
  wasClosed,
} from '../resolution/refused.js';
import { resolvedPhase, type Resolution } from '../resolution/resolved-phase.js';

/** The outcome of an unknown key that has no foreign call in doubt. */
export type KeyResolution =
  /** It is finished; retries get this answer. */
  | { outcome: 'completed'; answer: GivenAnswer }
  /** It did nothing that must not happen again: a retry may run it. */
  | { outcome: 'retryable' };

/** Decides about a key as it was read: refuses, or writes. */
type Decide = (seen: SeenForDecision, actor: Actor) => Refused | Promise<Written | undefined>;

const READ_ONLY = refuse(
  'read_only',
  'This process only reads (readOnly: true). Decide in one that has the jobs, or serves requests.',
);

/** More rounds than any race takes. */
const MOST_ROUNDS = 5;

/**
 * For people, and for the webhooks of other systems: finds keys, shows them, and
 * resolves what the library cannot. A decision is fenced by the state that it was
 * based on, and leaves an entry in `idempotency_audit`; a wrong or repeated one
 * changes nothing and says why.
 */
export class IdempotencyOperator {
  constructor(
    private readonly store: ResolutionStore,
    private readonly seen: ResolutionQueries,
    private readonly queries: OperatorQueries,
    private readonly exports: ExportQueries,
    private readonly maintenance: Maintenance,
    private readonly replays: ReplayCache,
    private readonly processes: ProcessReports,
    private readonly erasures: Erasures,
    /** Undefined if nothing is sealed here. */
    private readonly reencryption: Reencryption | undefined,
    /** The answer to a request that nobody will finish. */
    private readonly unfinished: Answer,
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
    return this.decide(
      () => this.seen.effect(effectKey),
      `There is no foreign call with the effect key ${effectKey}.`,
      by,
      (seen, actor) => {
        const phase = seen.phase!;
        // An unknown key without a call in doubt is unknown for another reason.
        const evident = outcome !== 'not_executed' && seen.status !== 'unknown';
        const open = evident ? ['intended', 'withdrawn'] : ['intended'];
        if (seen.status === 'in_progress' && !seen.lapsed) return running(seen);
        if (!open.includes(seen.phaseState!) || isFinished(seen)) {
          return refuse(
            'not_in_doubt',
            `The call of phase "${phase}" is on record as ${seen.phaseState}, and key ${seen.id} is ${seen.status}.`,
          );
        }
        try {
          const resolved = resolvedPhase(resolution, phase);
          return this.store.resolvePhase(
            { ...seen, phase, phaseState: seen.phaseState! },
            resolved,
            actor,
          );
        } catch (error) {
          return refuse('invalid', String(error));
        }
      },
    );
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
    return this.decideKey(id, by, (seen, actor) => {
      if (seen.status !== 'unknown') {
        return refuse(
          'not_unknown',
          `Key ${seen.id} is ${seen.status}; only an unknown one can be resolved.`,
        );
      }
      if (seen.phase !== null) return doubtful(seen);
      return answer
        ? this.store.complete(seen, answer, actor)
        : this.store.makeRetryable(seen, actor);
    });
  }

  /**
   * Makes the jobs try again now, beyond their limits: the completer resumes an
   * operation that it gave up, the reconciler asks again.
   */
  async retry(id: string, by: By): Promise<Change> {
    return this.decideKey(id, by, (seen, actor) => {
      switch (seen.status) {
        case 'completed':
        case 'expired':
          return refuse(
            'finished',
            `Key ${seen.id} is ${seen.status}: there is nothing to try again.`,
          );
        case 'performed':
          return refuse(
            'finished',
            `The operation of key ${seen.id} is finished; its client gets the answer when it retries.`,
          );
        case 'unknown':
          if (seen.phase !== null) return this.store.askAgain(seen, actor);
          return refuse(
            'nothing_to_ask',
            `Key ${seen.id} has no foreign call to ask about. Find out what happened and use resolveKey().`,
          );
        default:
          if (seen.operation !== null) return this.store.resume(seen, actor);
          return refuse(
            'no_operation',
            `Key ${seen.id} has no @Resumable() operation, so only its client can retry it.`,
          );
      }
    });
  }

  /** Removes a finished key with its answer, so that its next use is a new operation. */
  async evict(id: string, by: By): Promise<Change> {
    return this.decideKey(id, by, (seen, actor) => {
      if (seen.held) return kept(seen);
      if (isFinished(seen) || seen.status === 'expired') return this.store.evict(seen, actor);
      if (seen.status === 'unknown') return unresolved(seen);
      return refuse(
        'not_finished',
        `Key ${seen.id} is ${seen.status}: what it has done so far would be done again. Use expire() to close it.`,
      );
    });
  }

  /**
   * Expires a key early. A finished one becomes a tombstone, which answers 410;
   * an open one is closed with 408, as if its client had not come back.
   */
  async expire(id: string, by: By): Promise<Change> {
    return this.decideKey(id, by, (seen, actor) => {
      if (seen.held) return kept(seen);
      if (seen.status === 'expired' || wasClosed(seen)) {
        return refuse('expired', `Key ${seen.id} has already expired.`);
      }
      if (isFinished(seen)) return this.store.bury(seen, actor);
      if (seen.status === 'unknown') return unresolved(seen);
      if (seen.phase !== null) return doubtful(seen);
      return this.store.close(seen, this.unfinished, actor);
    });
  }

  /**
   * Keeps a key, with its answer and its phases, until `releaseHold()`: it is
   * neither removed nor closed, and a retry gets its answer however late it comes.
   * Any key can be held, also one that runs.
   */
  async hold(id: string, by: By): Promise<Change> {
    return this.decideAny(id, by, (seen, actor) =>
      seen.held ? refuse('held', `Key ${seen.id} is held already.`) : this.store.hold(seen, actor),
    );
  }

  /** Ends a hold. A key that is past its retention goes with the reaper's next round. */
  async releaseHold(id: string, by: By): Promise<Change> {
    return this.decideAny(id, by, (seen, actor) =>
      seen.held
        ? this.store.releaseHold(seen, actor)
        : refuse('not_held', `Nobody holds key ${seen.id}.`),
    );
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

  /** A key that runs records its own outcome. */
  private decideKey(id: string, by: By, decide: Decide): Promise<Change> {
    return this.decideAny(id, by, (seen, actor) =>
      seen.status === 'in_progress' ? running(seen) : decide(seen, actor),
    );
  }

  private decideAny(id: string, by: By, decide: Decide): Promise<Change> {
    return this.decide(
      async () => (isId(id) ? this.seen.key(id) : undefined),
      `There is no key ${JSON.stringify(id)}.`,
      by,
      decide,
    );
  }

  /** Reads, decides and writes; and reads again if the key has changed in between. */
  private async decide(
    see: () => Promise<SeenForDecision | undefined>,
    missing: string,
    by: By,
    decide: Decide,
  ): Promise<Change> {
    const actor = actorOf(by);
    if (!actor) return refuse('invalid', 'Say who decides this: the audit needs a name.');
    if (this.readOnly) return READ_ONLY;
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const seen = await see();
      if (!seen) return refuse('not_found', missing);
      if (isOutdated(actor.seen, seen)) return changedSince(actor.seen, seen);
      const decision = decide(seen, actor);
      if (!(decision instanceof Promise)) return decision;
      const written = await decision;
      if (!written) continue;
      this.replays.clear();
      if (written.after?.status === 'unknown') this.maintenance.wake('reconciler');
      if (written.after?.status === 'failed_retryable') this.maintenance.wake('completer');
      return { changed: true, id: seen.id, before: stateOf(seen), after: written.after };
    }
    return refuse('changed_meanwhile', 'The key kept changing while this was decided. Try again.');
  }
}
