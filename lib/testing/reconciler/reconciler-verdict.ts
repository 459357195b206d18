import { isDeepStrictEqual } from 'node:util';
import { Problems } from '../changes/problems.js';
import { throughJson, type Reply } from './questions.js';
import type { ReconcilerProblemCode } from './reconciler-options.js';

const DOCS = 'docs/guides/testing.md#is-my-reconciler-honest';

const CURES: Record<ReconcilerProblemCode, string> = {
  performs_effects:
    'A reconciler is asked as often as it takes, by several processes and again after a crash: it may only look. Take out whatever creates, confirms, cancels or writes; the handler goes on when the answer is on record.',
  guesses:
    "Answer { outcome: 'unknown' } for what the other system does not show: not_executed promises that the call will not take effect later either, and executed that it did. Compare startedAt with the longest time the other system may be busy, and let errors be thrown: they count as unknown.",
  not_found:
    'Look the call up by effect.idempotencyKey, under which it was made, and do not keep what an earlier look has found.',
  wrong_call:
    'Look the call up by effect.idempotencyKey and nothing else: two customers may order the same thing for the same amount.',
  other_result:
    'Answer with the result as call returns it: the handler goes on with it, and cannot tell the two apart.',
  unstable:
    'The same call has to get the same answer, however often and by however many it is asked. Keep nothing in the reconciler between two questions.',
  invalid_answer:
    "Answer { outcome: 'executed', result }, { outcome: 'rejected', error } with an HttpException, { outcome: 'not_executed' } or { outcome: 'unknown' }.",
  no_answer:
    'Find out why: as long as it gives no answer, the key stays unknown and its client gets 409. Give the look-up a time-out of its own.',
  not_recorded:
    'The result has to be JSON of at most 1 MiB: answer with an id and what the handler needs.',
  not_observed:
    'Count in observe what execute does in the other system: without that, nobody would see a reconciler that does it too.',
};

/** Makes problems of what was answered, one for each cause. */
export class ReconcilerVerdict {
  readonly problems = new Problems<ReconcilerProblemCode>();
  /** It takes any call for executed, so that it is no matter of which one. */
  private believes = false;

  add(code: ReconcilerProblemCode, at: string, message: string, cause?: string): void {
    this.problems.add({ code, at, message, cure: CURES[code], docs: DOCS }, cause ?? code);
  }

  /** About a call that was executed, and returned `result`. */
  executed(at: string, reply: Reply, result: unknown): void {
    if (reply.kind !== 'answer') return this.unanswered(at, reply);
    const { answer } = reply;
    if (answer.outcome === 'not_executed') {
      return this.add(
        'not_found',
        at,
        'It answered not_executed about a call that was executed: a retry would make it a second time.',
      );
    }
    if (answer.outcome !== 'executed') {
      return this.add(
        'not_found',
        at,
        `It answered ${answer.outcome} about a call that was executed.`,
      );
    }
    const expected = throughJson(result);
    const actual = throughJson(answer.result);
    if (expected === undefined || isDeepStrictEqual(actual, expected)) return;
    const message = `The result ${short(actual)} is not what the call returned, ${short(expected)}.`;
    this.add('other_result', at, message);
  }

  /**
   * About a call that was not executed. Errors count as unknown, which is right:
   * many clients throw where nothing is found.
   *
   * @param settled not_executed can be known
   * @param likeAnother one with the same request was executed
   */
  notExecuted(at: string, reply: Reply, settled: boolean, likeAnother = false): void {
    if (reply.kind === 'error') return;
    if (reply.kind !== 'answer') return this.unanswered(at, reply);
    const { outcome } = reply.answer;
    if (outcome === 'unknown' || (outcome === 'not_executed' && settled)) return;
    if (outcome === 'not_executed') {
      const message =
        'It answered not_executed about a call that the other system may still be busy with.';
      return this.add('guesses', at, message, 'too early');
    }
    const message = `It answered ${outcome} about a call that was never executed`;
    if (likeAnother && !this.believes) {
      const like = `${message}, after another one with the same request was.`;
      return this.add('wrong_call', at, like);
    }
    this.believes = true;
    this.add('guesses', at, `${message}.`);
  }

  /** While the other system fails. Errors are right then: they count as unknown. */
  broken(at: string, reply: Reply, wasExecuted: boolean): void {
    if (reply.kind === 'timeout') return this.unanswered(at, reply);
    if (reply.kind !== 'answer') return;
    const { outcome } = reply.answer;
    if (outcome === 'unknown' || (outcome === 'executed' && wasExecuted)) return;
    this.add('guesses', at, `It answered ${outcome} while the other system failed.`, 'broken');
  }

  private unanswered(at: string, { kind, detail }: Exclude<Reply, { kind: 'answer' }>): void {
    if (kind === 'invalid') this.add('invalid_answer', at, `It answered ${detail}.`);
    else this.add('no_answer', at, `It gave no answer: ${detail}`);
  }
}

function short(value: unknown): string {
  return (JSON.stringify(value) ?? 'undefined').slice(0, 120);
}
