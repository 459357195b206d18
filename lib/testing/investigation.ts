import { stripVTControlCharacters } from 'node:util';
import { errorLine } from '../telemetry/error-line.js';
import type {
  CrashSafetyOptions,
  CrashSafetyRequest,
  RequestSource,
} from './crash-safety.options.js';
import type { CrashSafetyReport, CrashSafetyRun } from './crash-safety.report.js';
import { progressOf } from './progress.js';
import { nameOf, type Disturbance } from './runs/disturbance.js';
import { namesOf, planFor } from './runs/plan.js';
import type { RunPerformer } from './runs/run-performer.js';
import type { RunResult } from './runs/run-result.js';
import type { Finding } from './verdict/finding.js';
import { Judge } from './verdict/judge.js';
import { outgoingOf } from './verdict/judge-calls.js';
import { judgeMisuse } from './verdict/judge-misuse.js';
import { judgeExpected } from './verdict/judge-observed.js';
import { judgeUndisturbed } from './verdict/judge-undisturbed.js';
import { Problems } from './verdict/problems.js';
import { reportOf } from './verdict/report.js';
import { tallyOf } from './world/changes.js';

/** How many runs there may be; at about 30 ms each, a few seconds. */
const MOST_RUNS = 100;

/** A hang costs the whole time-out, and the next one says nothing new. */
const MOST_HANGS = 3;

/** One endpoint under investigation: undisturbed runs, the plan, one run after another, the verdict. */
export class Investigation {
  private readonly problems = new Problems();
  private readonly runs: CrashSafetyRun[] = [];
  private readonly notes: string[] = [];
  private skipped: string[] = [];
  private readonly progress: ReturnType<typeof progressOf>;

  constructor(
    private readonly performer: RunPerformer,
    private readonly request: RequestSource,
    private readonly options: CrashSafetyOptions,
  ) {
    this.progress = progressOf(options);
  }

  async report(): Promise<CrashSafetyReport> {
    const undisturbed = await this.undisturbed();
    if (undisturbed) await this.disturb(undisturbed);
    return reportOf(this.runs, this.problems.list, this.notes, this.skipped);
  }

  /** Undefined where the endpoint does not even work undisturbed. */
  private async undisturbed(): Promise<RunResult[] | undefined> {
    const results: RunResult[] = [];
    // The second one is slow, which shows what nobody awaits. A third one, if two differ:
    // the first one may have made a row that all later ones find.
    for (const kind of ['none', 'slow', 'none'] as const) {
      if (results.length === 2 && rowsOf(results[0]!) === rowsOf(results[1]!)) break;
      const result = await this.performer.perform({ kind }, this.requestOf(this.runs.length));
      const failure = judgeUndisturbed(result, this.options);
      const misuse = judgeMisuse(result);
      const works = failure.length === 0 && (result.answer?.status ?? 500) < 500;
      const expected = works && kind === 'none' ? judgeExpected(result, this.options.expected) : [];
      await this.conclude(result, [...misuse, ...failure, ...expected]);
      if (!works) return undefined;
      results.push(result);
    }
    return results;
  }

  private async disturb(undisturbed: RunResult[]): Promise<void> {
    const judge = new Judge(undisturbed, this.options);
    const most = Math.max(0, (this.options.runs ?? MOST_RUNS) - undisturbed.length);
    const { disturbances, skipped } = planFor(undisturbed.at(-1)!, most);
    this.skipped = namesOf(skipped);
    if (skipped.length > 0) {
      this.notes.push(
        `${skipped.length} runs of the plan were left out, because there may be ${this.options.runs ?? MOST_RUNS}: crashes inside transactions first. The report lists them; raise \`runs\` to have them.`,
      );
    }
    let hangs = 0;
    for (const [index, disturbance] of disturbances.entries()) {
      const result = await this.performer.perform(disturbance, this.requestOf(this.runs.length));
      await this.conclude(result, judge.judge(result));
      this.noteUnwinding(result);
      this.tell(index + 1, disturbances.length, disturbance);
      hangs += result.hung ? 1 : 0;
      if (hangs >= MOST_HANGS) {
        this.skipped.push(...namesOf(disturbances.slice(index + 1)));
        this.notes.push(`The plan was not finished, because ${hangs} runs hung.`);
        return;
      }
    }
  }

  private async conclude(result: RunResult, findings: Finding[]): Promise<void> {
    const name = nameOf(result.disturbance);
    const run = runOf(result, findings);
    this.runs.push(run);
    try {
      await this.options.afterEach?.(run);
    } catch (error) {
      findings.push(checkFailed(error));
      run.problems.push('after_each_failed');
    }
    this.problems.add(findings, name);
  }

  private requestOf(n: number): CrashSafetyRequest {
    return typeof this.request === 'function' ? this.request(n) : this.request;
  }

  private noteUnwinding({ unwound, hung }: RunResult): void {
    if (!unwound || hung) return;
    this.notes.push(
      'A retry waited for something that the dead attempt held in memory, such as a mutex. A real crash would have freed it, so it does not count.',
    );
  }

  private tell(done: number, of: number, disturbance: Disturbance): void {
    const problems = this.runs.filter((run) => run.problems.length > 0).length;
    this.progress({ done, of, disturbance: nameOf(disturbance), problems });
  }
}

function rowsOf({ changes }: RunResult): string {
  return JSON.stringify(tallyOf(changes));
}

function runOf(result: RunResult, findings: readonly Finding[]): CrashSafetyRun {
  const { record, disturbance, outcome, answer, answers, changes, observed, duration } = result;
  return {
    disturbance: nameOf(disturbance),
    crashedAt: disturbance.kind === 'crash' ? disturbance.at.name : undefined,
    key: record.key,
    outcome,
    answer,
    requests: answers.length,
    phases: record.phases,
    commits: record.commits,
    calls: record.effects,
    changes: tallyOf(changes),
    outgoing: outgoingOf(record),
    observed,
    problems: [...new Set(findings.map(({ code }) => code))],
    duration,
  };
}

function checkFailed(error: unknown): Finding {
  const message = error instanceof Error ? error.message : errorLine(error);
  return {
    code: 'after_each_failed',
    subject: message.slice(0, 40),
    // Colours of an assertion library are of no use in a report.
    message: `afterEach threw: ${stripVTControlCharacters(message)}`,
    ...(error instanceof Error && { place: error }),
  };
}
