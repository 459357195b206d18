import { randomUUID } from 'node:crypto';
import { INestApplication } from '@nestjs/common';
import { Test, TestingModule } from '@nestjs/testing';
import { verifyCrashSafety } from 'nestjs-atomic-idempotency/testing';
import { AppModule } from './../src/app.module.js';

describe('OrdersController (e2e)', () => {
  let app: INestApplication;

  beforeEach(async () => {
    const moduleFixture: TestingModule = await Test.createTestingModule({
      imports: [AppModule],
    }).compile();

    app = moduleFixture.createNestApplication();
    await app.listen(0, '127.0.0.1');
  });

  it('/orders (POST)', async () => {
    const key = randomUUID();
    const order = async (header: string) =>
      fetch(`${await app.getUrl()}/orders`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': header },
        body: JSON.stringify({ article: 'rocket' }),
      });

    const first = await order(key);
    const replay = await order(`"${key}"`);
    expect(first.status).toBe(201);
    expect(replay.headers.get('idempotent-replayed')).toBe('true');
    expect(await replay.text()).toBe(await first.text());
  });

  it('/orders (POST) survives crashes', async () => {
    const { runs } = await verifyCrashSafety(app, {
      path: '/orders',
      body: { article: 'rocket' },
    });
    expect(runs.length).toBeGreaterThan(0);
  });

  afterEach(async () => {
    await app.close();
  });
});
