import type { CrashSafetyOptions } from '../crash-safety.options.js';
import type { RunResult } from '../runs/run-result.js';
import type { Change } from '../world/changes.js';
import { TableBaseline } from '../world/table-baseline.js';
import { AnswerBaseline } from './answer-baseline.js';
import type { Finding } from './finding.js';
import { judgeAnswer } from './judge-answer.js';
import { judgeCalls } from './judge-calls.js';
import { contentsOf, judgeContents, type SentEffect } from './judge-contents.js';
import { judgeDelivery } from './judge-delivery.js';
import { judgeMisuse } from './judge-misuse.js';
import { judgeObserved } from './judge-observed.js';
import { judgeOutcome } from './judge-outcome.js';
import { judgePhases } from './judge-phases.js';
import { judgeTables } from './judge-tables.js';

/** Compares disturbed runs with the undisturbed ones. */
export class Judge {
  private readonly answers: AnswerBaseline;
  private readonly tables: TableBaseline<Change>;
  private readonly contents: TableBaseline<SentEffect>;

  constructor(
    private readonly undisturbed: readonly RunResult[],
    private readonly options: CrashSafetyOptions,
  ) {
    this.answers = new AnswerBaseline(
      undisturbed.flatMap(({ answer }) => answer ?? []),
      options.ignore?.json ?? [],
    );
    this.tables = new TableBaseline(undisturbed.map(({ changes }) => changes));
    this.contents = new TableBaseline(undisturbed.map(({ record }) => contentsOf(record)));
  }

  judge(result: RunResult): Finding[] {
    const { options, undisturbed } = this;
    const outcome = judgeOutcome(result, options.unknown === 'fail');
    const calls = judgeCalls(result, undisturbed);
    const rest = [
      ...judgeMisuse(result),
      ...judgeTables(result, this.tables),
      ...calls,
      // Where there are more calls or fewer, that they say something else is no news.
      ...(calls.length === 0 ? judgeContents(result, this.contents) : []),
      ...judgePhases(result, undisturbed),
      ...judgeObserved(result, undisturbed),
      ...judgeDelivery(result),
      ...judgeReach(result),
    ];
    // Where a retry failed or a doubt was lost, another answer is what comes of it.
    const explained = [...outcome, ...rest].some(({ code }) => EXPLAIN_ANSWERS.has(code));
    const answer = explained ? [] : judgeAnswer(result, this.answers, undisturbed.at(-1)!, options);
    return [...outcome, ...rest, ...answer];
  }
}

const EXPLAIN_ANSWERS: ReadonlySet<string> = new Set([
  'hangs',
  'retry_failed',
  'stuck',
  'doubt_taken_for_no',
  'error_swallowed',
  'phase_misused',
  'call_outside_phase',
  'write_outside_phase',
]);

function judgeReach({ disturbance, record, hung }: RunResult): Finding[] {
  if (!('at' in disturbance) || record.disturbed || hung) return [];
  const { at } = disturbance;
  // A look-up that is cached, say, is made once and not again.
  if (at.kind !== 'step') return [];
  return [
    {
      code: 'not_reached',
      subject: '',
      message: 'A request did not come to a step that an undisturbed one comes to.',
      evidence: `It did not come to ${at.name}.`,
    },
  ];
}
