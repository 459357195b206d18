import 'reflect-metadata';
import assert from 'node:assert/strict';
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
  assert.equal(first.status, 201);
  assert.equal(first.headers.get('idempotent-replayed'), null);
  assert.equal(replay.status, 201);
  assert.equal(replay.headers.get('idempotent-replayed'), 'true');
  assert.equal(await first.text(), '{"number":1,"article":"rocket"}');
  assert.equal(await replay.text(), '{"number":1,"article":"rocket"}');
  const orders = await fetch(url);
  assert.deepEqual(await orders.json(), [{ number: 1, article: 'rocket' }]);

  await app.close();
  console.log('one request, its replay, one order.');
}

void main();
