import { randomUUID } from 'node:crypto';
import type { INestApplication } from '@nestjs/common';
import { observeFaultPoints, SimulatedCrash, type FaultPoint } from '../faults/fault-points.js';
import { IdempotencySettings } from '../idempotency.settings.js';
import { LeaseStore } from '../keys/lease-store.js';
import { sameShape } from './answers.js';
import type {
  CrashSafetyOptions,
  CrashSafetyReport,
  CrashSafetyRequest,
  CrashSafetyRun,
} from './crash-safety.js';
import { KitClient, type KitResponse } from './kit-client.js';
import { renderTable } from './table.js';
import { Tally } from './tally.js';

/**
 * Finds out whether your own endpoint survives a crash at any point. It runs the
 * request once to learn the points, then once per point with a fresh key: the
 * attempt dies there, its lease lapses (the kit moves the key's clock in the
 * database), and the request is retried until it is answered for good.
 *
 * Rejects, with the table of all runs, where an answer differs, a phase was
 * committed twice, a call was made under two effect keys, or a key is stuck.
 * Needs no test runner. The application must have been created with the
 * IdempotencyModule and its tables; it is started on a free port if need be.
 */
export async function verifyCrashSafety(
  app: INestApplication,
  request: CrashSafetyRequest,
  options: CrashSafetyOptions = {},
): Promise<CrashSafetyReport> {
  const settings = app.get(IdempotencySettings, { strict: false });
  const client = await KitClient.of(app, settings.header);
  const leases = app.get(LeaseStore, { strict: false });
  const kit = new CrashSafety(client, leases, request, options);

  const undisturbed = await kit.run(undefined);
  const points = undisturbed.points;
  const runs = [undisturbed.run];
  for (const point of points) runs.push((await kit.run(point, undisturbed.run)).run);

  const report = { runs, table: renderTable(runs) };
  const failed = runs.flatMap(({ crashedAt, problems }) =>
    problems.map((problem) => `${crashedAt ?? 'without a crash'}: ${problem}`),
  );
  if (failed.length > 0) {
    throw new Error(`Not crash-safe:\n  ${failed.join('\n  ')}\n\n${report.table}`);
  }
  return report;
}

class CrashSafety {
  constructor(
    private readonly client: KitClient,
    private readonly leases: LeaseStore,
    private readonly request: CrashSafetyRequest,
    private readonly options: CrashSafetyOptions,
  ) {}

  /** One key, from its first request until nothing changes any more. */
  async run(
    crashAt: string | undefined,
    undisturbed?: CrashSafetyRun,
  ): Promise<{ run: CrashSafetyRun; points: string[] }> {
    const key = randomUUID();
    const tally = new Tally();
    const death = new AbortController();
    let died: FaultPoint | undefined;
    const stop = observeFaultPoints((point) => {
      const dies = point.name === crashAt && !died;
      tally.add(point, dies);
      if (!dies) return;
      died = point;
      death.abort();
      throw new SimulatedCrash(point.name);
    });
    let requests = 1;
    let last: KitResponse | undefined;
    try {
      // A dead process answers nothing: the client's connection breaks with it.
      last = await this.client.send(this.request, key, death.signal).catch((error: unknown) => {
        if (!died) throw error;
        return undefined;
      });
      if (died) await this.leases.lapse(died.keyId);
      const most = 1 + (this.options.retries ?? 10);
      while (!last?.final && !last?.unknown && requests < most) {
        last = await this.client.send(this.request, key);
        requests += 1;
      }
    } finally {
      stop();
    }

    const outcome = last?.final ? 'final' : last?.unknown ? 'unknown' : 'stuck';
    const run: CrashSafetyRun = {
      crashedAt: crashAt,
      key,
      outcome,
      answer: last,
      requests,
      commits: tally.commits,
      calls: tally.calls,
      problems: tally.problems,
    };
    if (crashAt !== undefined && !died) run.problems.push('the point was not reached again');
    await this.judge(run, last, undisturbed);
    return { run, points: tally.points };
  }

  private async judge(
    run: CrashSafetyRun,
    last: KitResponse | undefined,
    undisturbed: CrashSafetyRun | undefined,
  ): Promise<void> {
    if (run.outcome === 'stuck') {
      run.problems.push(
        `no final answer in ${run.requests} requests; the last was ${last?.status}`,
      );
    }
    if (run.outcome === 'unknown' && (this.options.unknown === 'fail' || !undisturbed)) {
      run.problems.push('the outcome is unknown');
    }
    if (run.outcome === 'final' && last) {
      const replay = await this.client.send(this.request, run.key);
      if (replay.status !== last.status || !replay.body.equals(last.body)) {
        run.problems.push('a retry got another answer than the one before it');
      }
      const same = this.options.sameAnswer ?? sameShape;
      if (undisturbed?.answer && !same(undisturbed.answer, last)) {
        run.problems.push(
          `the answer (${last.status}) is not like the one without a crash (${undisturbed.answer.status})`,
        );
      }
    }
    await this.options.afterEach?.(run);
  }
}
