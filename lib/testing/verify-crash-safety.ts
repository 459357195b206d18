import type { INestApplication } from '@nestjs/common';
import type { CrashSafetyOptions, RequestSource } from './crash-safety.options.js';
import { CrashSafetyError, type CrashSafetyReport } from './crash-safety.report.js';
import { Investigation } from './investigation.js';
import { openKit } from './kit.js';

/** One after another: they would see each other's doings. */
let turn: Promise<unknown> = Promise.resolve();

/**
 * Finds out whether your own endpoint survives whatever can happen to a request.
 * It runs the request undisturbed to learn what it does, then once for each thing
 * that can go wrong, with a fresh key: the process dies at some point, the answer
 * of a call gets lost, a second attempt overtakes the first. The request is
 * retried until it is answered for good, and all that the run did to the database
 * and to other systems is compared with the undisturbed run.
 *
 * Rejects with a {@link CrashSafetyError} that names each problem, the line of
 * your code and the cure. Needs no test runner. The application must have been
 * created with the IdempotencyModule and its tables, on a database that nobody
 * else uses meanwhile; it is started on a free port if need be.
 *
 * @param request a function of the run's number, where each run needs its own body
 */
export async function verifyCrashSafety(
  app: INestApplication,
  request: RequestSource,
  options: CrashSafetyOptions = {},
): Promise<CrashSafetyReport> {
  const investigation = turn.then(() => investigate(app, request, options));
  turn = investigation.catch(() => undefined);
  const report = await investigation;
  if (!report.safe) throw new CrashSafetyError(report);
  return report;
}

async function investigate(
  app: INestApplication,
  request: RequestSource,
  options: CrashSafetyOptions,
): Promise<CrashSafetyReport> {
  const kit = await openKit(app, options);
  try {
    return await new Investigation(kit.performer, request, options).report();
  } finally {
    await kit.close();
  }
}
