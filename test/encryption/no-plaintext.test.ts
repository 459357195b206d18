import { randomBytes } from 'node:crypto';
import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { HttpException } from '@nestjs/common';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Outbox } from 'nestjs-atomic-idempotency';
import { IdempotencyTelemetryModule } from 'nestjs-atomic-idempotency/opentelemetry';
import { CollectedMetrics } from '../opentelemetry/collected.js';
import { CollectedSpans } from '../opentelemetry/spans.js';
import { makeDue } from '../outbox/messages.js';
import type { TestDatabase } from '../support/database.js';
import { send } from '../support/http.js';
import { keyRow, type IdempotentApp } from '../support/idempotent-app.js';
import { age, runJob } from '../support/jobs.js';
import { operatorOf } from '../support/operator.js';
import { forEachPlatform } from '../support/platforms.js';
import { recordingLogger } from '../support/recording-logger.js';
import { Heard } from '../telemetry/heard.js';
import { behaviour, FIRST, secret, SECRET, startSecretsApp } from './secrets-app.js';

const TABLES = ['keys', 'phases', 'outbox', 'audit', 'jobs', 'processes', 'data_keys'];

/** As drivers and HTTP clients do it: the text quotes what it failed on. */
function quoting(): never {
  throw Object.assign(new Error(`${SECRET} in an error`), { config: secret('config') });
}

/** Everything that a superuser sees in the tables. */
async function everything(database: TestDatabase): Promise<string> {
  const rows = await Promise.all(
    TABLES.map((table) => database.query(`SELECT t::text AS row FROM idempotency_${table} t`)),
  );
  const texts = rows.flat().map(({ row }) => row as string);
  const bytes = texts.flatMap((text) => text.match(/\\x[0-9a-f]+/g) ?? []);
  const decoded = bytes.map((hex) => Buffer.from(hex.slice(2), 'hex').toString('latin1'));
  return [...texts, ...decoded].join('\n');
}

/**
 * The files of the server that contain a text: tables, indexes and write-ahead log.
 * Undefined if the server is on another machine.
 */
async function filesWith(database: TestDatabase, text: string): Promise<string[] | undefined> {
  await database.query('CHECKPOINT');
  const [home] = await database.query(
    `SELECT current_setting('data_directory') AS directory, oid FROM pg_database WHERE datname = $1`,
    [database.name],
  );
  const found: string[] = [];
  for (const folder of [join('base', String(home!.oid)), 'pg_wal']) {
    const path = join(home!.directory as string, folder);
    const files = await readdir(path, { withFileTypes: true }).catch(() => undefined);
    if (!files) return undefined;
    for (const file of files) {
      if (file.isFile() && (await contains(join(path, file.name), text))) found.push(file.name);
    }
  }
  return found;
}

async function contains(path: string, text: string): Promise<boolean> {
  const file = await open(path).catch(() => undefined);
  if (!file) return false;
  try {
    return (await file.readFile()).includes(text);
  } finally {
    await file.close();
  }
}

forEachPlatform('With encryption', (platform) => {
  const logger = recordingLogger();
  let heard: Heard;
  let metrics: CollectedMetrics;
  let spans: CollectedSpans;
  let app: IdempotentApp;

  beforeAll(async () => {
    heard = new Heard();
    metrics = new CollectedMetrics();
    spans = new CollectedSpans();
    app = await startSecretsApp(
      platform,
      { keys: [FIRST] },
      {
        logger,
        idempotency: { outbox: { maxAttempts: 1 }, replayCache: {} },
        imports: [
          IdempotencyTelemetryModule.forRoot({
            meterProvider: metrics.provider,
            tracerProvider: spans.provider,
          }),
        ],
      },
    );
  });
  afterAll(async () => {
    heard.end();
    spans.end();
    await app.close();
  });

  const post = (path: string, key: string, what = 'body', user = 'ada') =>
    send(`${app.url}/${path}`, { key, body: secret(what), headers: { 'x-user': user } });

  it('the protocol is the same: replays, mismatches, resumes, workers, resolutions', async () => {
    const first = await post(`plain/${SECRET}`, 'a');
    expect(first.status).toBe(201);
    for (let round = 0; round < 2; round++) {
      const replay = await post(`plain/${SECRET}`, 'a');
      expect([replay.status, replay.body]).toEqual([201, first.body]);
      expect(replay.headers.get('location')).toBe(`/cards/${SECRET}`);
      expect(replay.headers.get('idempotent-replayed')).toBe('true');
      expect((await post(`plain/${SECRET}`, 'a', 'another')).status).toBe(422);
    }
    expect((await post('plain/declined', 'b')).text).toContain(SECRET);
    expect((await post('plain/declined', 'b')).text).toContain(SECRET);

    behaviour.failures = [quoting];
    expect((await post('phased', 'c')).status).toBe(409);
    const operator = operatorOf(app);
    const { id } = await keyRow(app.database, 'c');
    const report = await operator.inspect(id);
    expect(report).toMatchObject({ path: '/phased', status: 'unknown' });
    expect(report!.phases).toMatchObject([
      { name: 'noted', result: secret('local result') },
      { name: 'charged', request: secret('phase request'), result: null },
    ]);
    const why = `${SECRET} said so`;
    const found = { outcome: 'executed', result: secret('found') } as const;
    await operator.resolve(report!.inDoubt!.effectKey, found, { who: 'eve', why });
    expect((await operator.inspect(id))!.audit).toMatchObject([
      { who: 'eve', why, before: { status: 'unknown' }, after: { status: 'failed_retryable' } },
    ]);
    const resumed = await post('phased', 'c');
    expect(resumed.json()).toMatchObject({ charge: secret('found'), note: secret('local result') });

    const kept = await operator.inspect((await keyRow(app.database, 'a')).id);
    expect(kept).toMatchObject({
      path: `/plain/${SECRET}`,
      request: secret('body'),
      answer: { status: 201, bytes: first.body.length },
    });
    expect(kept!.answer!.headers).toMatchObject({ location: `/cards/${SECRET}` });
    expect((await operator.find({ scope: 'ada' })).keys.map(({ path }) => path)).toContain(
      `/plain/${SECRET}`,
    );
  });

  it('workers read inputs and messages, and failures are kept for people', async () => {
    expect((await post('background', 'd')).status).toBe(202);
    behaviour.failures = [
      () => {
        throw new HttpException(secret('refused'), 402);
      },
    ];
    expect(await runJob(app, 'completer')).toBe(1);
    expect((await post('background', 'd')).status).toBe(402);
    expect((await post('background', 'e')).status).toBe(202);
    behaviour.failures = [quoting];
    await runJob(app, 'completer');
    await age(app.database, 'e');

    behaviour.failures = [quoting];
    behaviour.delivered = [];
    await makeDue(app.database);
    await runJob(app, 'outbox');
    expect(behaviour.delivered).toContainEqual(secret('payload'));
    const outbox = app.app.get(Outbox, { strict: false });
    const [letter] = await outbox.deadLetters();
    expect(letter).toMatchObject({ payload: secret('payload') });
    expect(letter!.lastError).toContain(`${SECRET} in an error`);
    expect(await outbox.requeue(letter!.id, { who: 'eve', why: SECRET })).toBe(true);
  });

  it('no secret is in the tables, the logs, the events or the errors of refused requests', async () => {
    expect(await everything(app.database)).not.toContain(SECRET);
    expect(logger.everything.join('\n')).not.toContain(SECRET);
    expect(logger.everything.join('\n')).toContain('is in doubt: Error');
    expect(heard.everything).not.toContain(SECRET);
    expect((await post(`plain/${SECRET}`, 'a', 'another')).text).not.toContain(SECRET);
  });

  it('no secret is in metrics and traces', async () => {
    const names = Object.keys(await metrics.names());
    const points = await Promise.all(names.map((name) => metrics.points(name)));
    expect(JSON.stringify(points)).toContain('idempotency.route');
    expect(JSON.stringify(points)).not.toContain(SECRET);
    const shown = spans.all.map(({ name, attributes, status, events }) => ({
      name,
      attributes,
      status,
      events,
    }));
    expect(shown.map(({ name }) => name)).toContain('call charged');
    expect(JSON.stringify(shown)).not.toContain(SECRET);
  });

  // The adapter makes no difference to what the database writes.
  if (platform.name !== 'express') return;
  it('no secret is in the files of the server, whose search would find one', async () => {
    const control = randomBytes(8).toString('hex');
    await app.database.query('CREATE TABLE control (text text)');
    await app.database.query('INSERT INTO control VALUES ($1)', [control]);
    const files = await filesWith(app.database, control);
    if (!files) return console.warn('Skipped: the files of the server are not on this machine.');
    expect(files.length).toBeGreaterThan(1);
    expect(await filesWith(app.database, SECRET)).toEqual([]);
    await operatorOf(app).erase('ada', 'eve', { force: true });
    expect(await filesWith(app.database, SECRET)).toEqual([]);
  });
});
