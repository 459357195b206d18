import 'reflect-metadata';
import { deepEqual, equal } from 'node:assert/strict';
import { NestFactory } from '@nestjs/core';
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

  await app.close();
  console.log('one request, its replay, one order.');
}

void main();
