import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { barrier, type Barrier } from '../support/barrier.js';
import { send } from '../support/http.js';
import { lapse, startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';
import { refuseStatements } from '../support/store-faults.js';
import { writtenRow } from '../support/written-row.js';

const routes = new PolicyRoutes({
  plain: {},
  accept: { onInProgress: 'accept' },
  wait: { onInProgress: 'wait', waitFor: 20 },
  resume: { onAbandoned: 'resume' },
  replay: { onMismatch: 'replay' },
  gone: { onExpired: 'gone' },
  unknown: { onServerError: 'unknown' },
  tiny: { maxResponseBytes: 3 },
});

interface Expected {
  status: number;
  code?: string;
  retryAfter?: true;
  runs?: true;
  replayed?: true;
}

const BODY = { item: 'rocket' };
const OTHER_BODY = { item: 'raft' };

const RUNS: Expected = { status: 201, runs: true };
const REPLAY: Expected = { status: 201, replayed: true };
const ACCEPTED: Expected = { status: 202, retryAfter: true };
const IN_PROGRESS: Expected = { status: 409, code: 'in_progress', retryAfter: true };
const UNKNOWN: Expected = { status: 409, code: 'outcome_unknown', retryAfter: true };
const REUSED: Expected = { status: 422, code: 'key_reused' };
const EXPIRED: Expected = { status: 410, code: 'expired' };
const NO_ANSWER: Expected = { status: 410, code: 'response_unavailable' };
const NO_STORE: Expected = { status: 503, code: 'store_unavailable', retryAfter: true };

interface Setting {
  app: IdempotentApp;
  url: string;
  key: string;
  /** Holds a handler back; it is opened at the end. */
  gate: Barrier;
}

/** Brings a key into a state. What is returned is waited for at the end. */
type Arrange = (setting: Setting) => Promise<void | (() => Promise<unknown>)>;

const completed: Arrange = async ({ url, key }) => {
  routes.answers(() => ({ first: 'answer' }));
  expect(await send(url, { key, body: BODY })).toHaveProperty('status', 201);
};

const failed: Arrange = async ({ url, key }) => {
  routes.answers(() => {
    throw new Error('a bug');
  });
  expect(await send(url, { key, body: BODY })).toHaveProperty('status', 500);
};

const running: Arrange = async ({ url, key, gate }) => {
  routes.answers(() => gate.pass());
  const first = send(url, { key, body: BODY });
  await gate.arrived();
  return () => first;
};

const lapsed: Arrange = async (setting) => {
  const end = await running(setting);
  await lapse(setting.app.database, setting.key);
  return end;
};

/** For states that come about later or elsewhere: a finished key is made to look like one. */
const rewritten =
  (assignments: string): Arrange =>
  async (setting) => {
    await completed(setting);
    await setting.app.database.query(`UPDATE idempotency_keys SET ${assignments} WHERE key = $1`, [
      setting.key,
    ]);
  };

const pastRetention = rewritten(`expires_at = now() - interval '1 second'`);
const otherFormat = rewritten('response_version = 1000');
const tombstone = rewritten(`status = 'expired', response_body = NULL, response_status = NULL`);
const pending = rewritten(
  `status = 'pending', response_body = NULL, response_status = NULL, completed_at = NULL`,
);

interface State {
  state: string;
  path?: string;
  arrange: Arrange;
  same: Expected;
  /** Undefined where the table of the design leaves the cell empty. */
  other?: Expected;
}

const TABLE: State[] = [
  { state: 'no row', arrange: async () => undefined, same: RUNS },
  { state: 'pending', arrange: pending, same: ACCEPTED, other: REUSED },
  { state: 'in_progress', arrange: running, same: IN_PROGRESS, other: REUSED },
  { state: 'in_progress', path: 'accept', arrange: running, same: ACCEPTED, other: REUSED },
  { state: 'in_progress', path: 'wait', arrange: running, same: IN_PROGRESS, other: REUSED },
  { state: 'in_progress', path: 'replay', arrange: running, same: IN_PROGRESS, other: REUSED },
  { state: 'lapsed', arrange: lapsed, same: UNKNOWN, other: REUSED },
  { state: 'lapsed', path: 'resume', arrange: lapsed, same: RUNS, other: REUSED },
  { state: 'failed_retryable', arrange: failed, same: RUNS, other: REUSED },
  { state: 'failed_retryable', path: 'replay', arrange: failed, same: RUNS, other: REUSED },
  { state: 'completed', arrange: completed, same: REPLAY, other: REUSED },
  { state: 'completed', path: 'replay', arrange: completed, same: REPLAY, other: REPLAY },
  {
    state: 'completed without a body',
    path: 'tiny',
    arrange: completed,
    same: NO_ANSWER,
    other: REUSED,
  },
  // A later version of this library wrote it, and this one cannot read it: it fails closed.
  { state: 'completed in another format', arrange: otherFormat, same: NO_ANSWER, other: REUSED },
  { state: 'unknown', path: 'unknown', arrange: failed, same: UNKNOWN, other: REUSED },
  { state: 'past retention', arrange: pastRetention, same: RUNS, other: RUNS },
  { state: 'past retention', path: 'gone', arrange: pastRetention, same: EXPIRED, other: EXPIRED },
  { state: 'expired', arrange: tombstone, same: EXPIRED, other: EXPIRED },
  {
    state: 'store unreachable',
    arrange: ({ app, key }) => refuseStatements(app.database, 'INSERT', key),
    same: NO_STORE,
  },
];

const CASES = TABLE.flatMap(({ state, path = 'plain', arrange, same, other }) => [
  { state, path, request: 'same', body: BODY, arrange, expected: same },
  ...(other ? [{ state, path, request: 'other', body: OTHER_BODY, arrange, expected: other }] : []),
]).map((row) => ({ ...row, gets: row.expected.code ?? row.expected.status }));

forEachPlatform('The table of retries', (platform) => {
  let app: IdempotentApp;
  beforeAll(async () => {
    app = await startIdempotentApp(platform, {
      controllers: [routes.controller],
      // No heartbeat comes between a lease that a test makes lapse and its retry.
      idempotency: { lease: '1h', maxRunTime: '2h' },
      logger: false,
    });
  });
  afterAll(() => app.close());

  describe('A retry', () => {
    it.each(CASES)(
      'of the $request request on a key that is $state gets $gets (route $path)',
      async ({ state, path, request, body, arrange, expected }) => {
        const key = `${state}/${path}/${request}`.replaceAll(' ', '-');
        const setting: Setting = { app, key, url: `${app.url}/${path}`, gate: barrier() };
        const end = await arrange(setting);
        routes.answers(() => ({ second: 'run' }));
        const before = await writtenRow(app.database, key);

        const retry = await send(setting.url, { key, body });
        const after = await writtenRow(app.database, key);
        setting.gate.open();
        await end?.();

        expect(retry.status).toBe(expected.status);
        expect(routes.executions).toBe(expected.runs ? 1 : 0);
        expect(retry.headers.get('idempotent-replayed')).toBe(expected.replayed ? 'true' : null);
        const retryAfter = retry.headers.get('retry-after');
        if (expected.retryAfter) expect(retryAfter).toMatch(/^([1-9]|[1-5]\d)$/);
        else expect(retryAfter).toBeNull();
        if (expected.code) expect(retry.json()).toHaveProperty('code', expected.code);
        if (expected.runs) expect(retry.json()).toEqual({ second: 'run' });
        if (expected.replayed) expect(retry.text).toBe('{"first":"answer"}');
        // Nothing is written but by a run, and by the retry that finds an outcome unknown.
        const declares = state === 'lapsed' && expected === UNKNOWN;
        if (!expected.runs && !declares) expect(after).toEqual(before);
      },
    );
  });
});
