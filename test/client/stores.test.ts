import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createIdempotentFetch, memoryKeys } from 'nestjs-atomic-idempotency/client';
import { fileKeys } from 'nestjs-atomic-idempotency/client/file';
import { endWithThisProcess } from '../support/end-with-this-process.js';
import { until } from '../support/until.js';
import { startScriptedServer } from './scripted-server.js';
import { describeKeyStore } from './store-contract.js';

describe('Keys in memory', () => {
  const keys = memoryKeys();
  describeKeyStore(
    () => keys,
    (test) => test,
  );
});

describe('Keys in a folder', () => {
  let folder: string;
  beforeAll(async () => {
    folder = join(await mkdtemp(join(tmpdir(), 'keys-')), 'not', 'there', 'yet');
  });
  afterAll(() => rm(join(folder, '..', '..', '..'), { recursive: true }));

  describeKeyStore(
    () => fileKeys(folder),
    (test) => `../${test}/${'long '.repeat(100)}`,
  );

  it('are for this user alone, and nothing else is left there', async () => {
    const files = await readdir(folder);
    expect(files.filter((file) => !/^[0-9a-f]{64}\.json$/.test(file))).toEqual([]);
    for (const file of files) expect((await stat(join(folder, file))).mode & 0o077).toBe(0);
  });

  it('may be kept for ever', async () => {
    const server = await startScriptedServer();
    const keys = fileKeys(join(folder, 'for-ever'));
    const send = createIdempotentFetch({ keys, keyLifetime: Infinity, retries: 0 });
    const order = () => send(server.url, { method: 'POST', operation: 'order' });
    server.play({ status: 503 }, { status: 201 });
    await expect(order()).rejects.toMatchObject({ reason: 'retries' });
    expect((await order()).status).toBe(201);
    expect(server.requests[1]!.key).toBe(server.requests[0]!.key);
    await server.close();
  });

  it('are used by a client that was killed and started again', async () => {
    const server = await startScriptedServer();
    const own = join(folder, 'of-a-client');
    const start = () => {
      const script = join(process.env.TEST_BUILD!, 'test/servers/ordering-client.js');
      const child = fork(script, { env: { ...process.env, KEYS: own, SHOP: server.url } });
      endWithThisProcess(child);
      return child;
    };
    server.play('hang', { status: 201, body: { order: 1 } });
    const first = start();
    await until(() => server.requests.length === 1);
    first.kill('SIGKILL');
    await once(first, 'exit');
    const [file = ''] = await readdir(own);
    const { operation, key } = JSON.parse(await readFile(join(own, file), 'utf8')) as {
      operation: string;
      key: string;
    };
    expect(operation).toBe('order-1');

    const second = start();
    const [[result]] = (await Promise.all([once(second, 'message'), once(second, 'exit')])) as [
      [object],
      unknown,
    ];
    expect(result).toEqual({ order: 1 });
    expect(server.requests.map((request) => [request.key, request.attempt])).toEqual([
      [key, '1'],
      [key, '2'],
    ]);
    expect(await readdir(own)).toEqual([]);
    await server.close();
  });
});
