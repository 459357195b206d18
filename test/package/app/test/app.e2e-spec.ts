import { randomUUID } from 'node:crypto';
import { Controller, INestApplication, Post } from '@nestjs/common';
import { Test, TestingModule } from '@nestjs/testing';
import { InjectDataSource } from '@nestjs/typeorm';
import { Idempotent } from 'nestjs-atomic-idempotency';
import { CrashSafetyError, verifyCrashSafety } from 'nestjs-atomic-idempotency/testing';
import { DataSource } from 'typeorm';
import { AppModule } from './../src/app.module.js';

/** Writes where no phase protects it. */
@Controller('imports')
class ImportsController {
  constructor(@InjectDataSource() private readonly dataSource: DataSource) {}

  @Post()
  @Idempotent({ onAbandoned: 'resume' })
  async create() {
    await this.dataSource.query("INSERT INTO orders (article) VALUES ('rocket')");
    return {};
  }
}

describe('OrdersController (e2e)', () => {
  let app: INestApplication;

  beforeEach(async () => {
    const moduleFixture: TestingModule = await Test.createTestingModule({
      imports: [AppModule],
      controllers: [ImportsController],
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

  it('/imports (POST) does not survive crashes, and the kit names the line', async () => {
    const error: unknown = await verifyCrashSafety(app, { path: '/imports' }).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(CrashSafetyError);
    const { problems } = (error as CrashSafetyError).report;
    expect(problems.map(({ code }) => code)).toEqual(['write_outside_phase']);
    expect(problems[0]!.message).toContain('orders: 2 rows inserted instead of 1.');
    expect(problems[0]!.line).toContain('app.e2e-spec.ts:');
  });

  afterEach(async () => {
    await app.close();
  });
});
