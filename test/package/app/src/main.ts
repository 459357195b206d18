import 'reflect-metadata';
import { deepEqual, equal } from 'node:assert/strict';
import { mkdtemp, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NestFactory } from '@nestjs/core';
import { createIdempotentFetch, resultOf } from 'nestjs-atomic-idempotency/client';
import { fileKeys } from 'nestjs-atomic-idempotency/client/file';
import { AppModule } from './app.module.js';

/** One request and its retry, as a user's first try of the package would be. */
async function main() {
  const app = await NestFactory.create(AppModule, { logger: ['error', 'warn'] });
  await app.listen(0, '127.0.0.1');
  const url = `${await app.getUrl()}/orders`;
  const order = () =>
    fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': 'first-order' },
      body: JSON.stringify({ article: 'rocket' }),
    });

  const first = await order();
  const replay = await order();
  equal(first.status, 201);
  equal(first.headers.get('idempotent-replayed'), null);
  equal(replay.status, 201);
  equal(replay.headers.get('idempotent-replayed'), 'true');
  equal(await first.text(), '{"number":1,"article":"rocket"}');
  equal(await replay.text(), '{"number":1,"article":"rocket"}');
  const orders = await fetch(url);
  deepEqual(await orders.json(), [{ number: 1, article: 'rocket' }]);

  const folder = await mkdtemp(join(tmpdir(), 'keys-'));
  const send = createIdempotentFetch({ keys: fileKeys(folder) });
  const response = await send(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ article: 'balloon' }),
    operation: 'second-order',
  });
  deepEqual(await resultOf(response), { number: 2, article: 'balloon' });
  deepEqual(await readdir(folder), []);

  await app.close();
  console.log('one request, its replay, one order; another one by the client.');
}

void main();
