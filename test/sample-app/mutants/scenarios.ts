import type { INestApplication } from '@nestjs/common';
import {
  CrashSafetyError,
  verifyCrashSafety,
  type CrashSafetyOptions,
  type CrashSafetyReport,
} from 'nestjs-atomic-idempotency/testing';
import { ONE_RIDE, tracesOf } from '../../crashes/rides.js';
import type { RocketRides } from '../rocket-rides.js';

/** A request to an endpoint of the sample, and what is right. */
interface Scenario {
  name: string;
  /** Whose work it is: the routes and outbox handlers that it comes to. */
  entries: readonly string[];
  path(sample: RocketRides): Promise<string>;
  body: object;
  options(sample: RocketRides): CrashSafetyOptions;
}

const rides = async () => '/rides';
const ride = { origin: 'earth', target: 'moon' };
const observe = (sample: RocketRides) => async () => ({ ...(await tracesOf(sample)) });

/** The same as in crash-safety.test.ts. */
const SCENARIOS: readonly Scenario[] = [
  {
    name: 'a ride',
    entries: ['RidesController.request', 'ReceiptSender.send'],
    path: rides,
    body: ride,
    options: (sample) => ({
      unknown: 'fail',
      expectStatus: 201,
      expected: { ...ONE_RIDE },
      observe: observe(sample),
    }),
  },
  {
    name: 'a declined ride',
    entries: ['RidesController.request'],
    path: rides,
    body: { ...ride, card: 'card_declined' },
    options: (sample) => ({ unknown: 'fail', expectStatus: 402, observe: observe(sample) }),
  },
  {
    name: 'a tip',
    entries: ['TipsController.tip'],
    path: async (sample) => {
      const made = await sample.post('/rides', { key: crypto.randomUUID(), body: ride });
      return `/rides/${made.json().id}/tips`;
    },
    body: { amount: 500 },
    options: () => ({ expectStatus: 201 }),
  },
];

export const EVERY_ENTRY: ReadonlySet<string> = new Set(
  SCENARIOS.flatMap(({ entries }) => entries),
);

/** Enough for what shows without a crash. */
const FEW_RUNS = 3;

/**
 * What the kit finds in an app, by the requests that come to some entries: a few runs of each
 * first, and all of the plan only where these show nothing.
 *
 * @returns undefined where it finds nothing
 */
export async function investigate(
  app: INestApplication,
  sample: RocketRides,
  entries: ReadonlySet<string>,
): Promise<CrashSafetyReport | undefined> {
  const scenarios = SCENARIOS.filter((scenario) =>
    scenario.entries.some((each) => entries.has(each)),
  );
  for (const runs of [FEW_RUNS, 100]) {
    for (const { path, body, options } of scenarios) {
      const request = {
        path: await path(sample),
        headers: { authorization: 'Bearer token-of-ada' },
        body,
      };
      // A busy machine must not make a hang, and so a mistake, of a request that takes its time.
      const limits = { runs, timeout: 30_000, progress: false } as const;
      const report = await verdictOf(app, request, { ...options(sample), ...limits });
      if (!report.safe) return report;
    }
  }
  return undefined;
}

async function verdictOf(...of: Parameters<typeof verifyCrashSafety>): Promise<CrashSafetyReport> {
  try {
    return await verifyCrashSafety(...of);
  } catch (error) {
    if (error instanceof CrashSafetyError) return error.report;
    throw error;
  }
}
