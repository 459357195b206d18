import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { send } from '../support/http.js';
import { keyRow } from '../support/idempotent-app.js';
import { age } from '../support/jobs.js';
import { forEachPlatform } from '../support/platforms.js';
import { startServer } from '../support/server-process.js';
import type { WrittenSpan } from '../support/span-file.js';

forEachPlatform('A trace', ({ name: platform }) => {
  let database: TestDatabase;
  let folder: string;

  beforeAll(async () => {
    database = await createTestDatabase();
    folder = await mkdtemp(join(tmpdir(), 'spans-'));
  });
  afterAll(async () => {
    await rm(folder, { recursive: true });
    await database.drop();
  });

  it('one trace tells of a request, its kill -9, its resume in another process, and its receipt', async () => {
    const file = join(folder, 'spans.jsonl');
    const env = { DATABASE: database.url, SPANS: file };
    const start = (more: object) =>
      startServer('test/servers/traced-rides', { platform, env: { ...env, ...more } });

    const first = await start({ STUCK: 'yes' });
    const client = send(`${first.url}/rides`, { key: 'ride', body: { to: 'mars' } });
    client.catch(() => undefined);
    await first.event('charging');
    await first.kill();
    await expect(client).rejects.toThrow();

    const second = await start({ STUCK: '' });
    await age(database, 'ride');
    await second.ask('run', 'sweeper');
    await second.ask('run', 'completer');
    await second.ask('run', 'outbox');
    await second.event('receipt');

    const spans = (await readFile(file, 'utf8'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as WrittenSpan);
    const { traceparent } = await keyRow(database, 'ride');
    const [, traceId, request] = traceparent.split('-');
    const trace = spans.filter((span) => span.traceId === traceId);
    const one = (name: string) => {
      const found = trace.filter((span) => span.name === name);
      expect(found).toHaveLength(1);
      return found[0]!;
    };

    // What the first process had finished. Its request and its charge came to no end.
    const before = trace.filter((span) => span.process === first.pid);
    expect(before).toMatchObject([{ name: 'phase ride_created', parentId: request }]);
    // The second process goes on from the request.
    const resume = one('complete rides.create');
    expect(resume).toMatchObject({ process: second.pid, parentId: request, links: [request] });
    const after = trace.filter((span) => span.process === second.pid);
    expect(after.filter(({ parentId }) => parentId === resume.spanId)).toMatchObject([
      { name: 'phase ride_created' },
      { name: 'phase charge_created' },
      { name: 'phase receipt_sent' },
    ]);
    expect(one('call charge_created').parentId).toBe(one('phase charge_created').spanId);
    const receipt = one('phase receipt_sent').spanId;
    expect(one('deliver receipts')).toMatchObject({ parentId: receipt, links: [receipt] });
    // The jobs that did it are traces of their own.
    expect(trace.filter(({ name }) => name.startsWith('job '))).toEqual([]);
  });
});
