import { Controller, Get, INestApplication, Inject, Module, Query } from '@nestjs/common';
import { HealthCheckService, TerminusModule } from '@nestjs/terminus';
import { Test } from '@nestjs/testing';
import { getDataSourceToken } from '@nestjs/typeorm';
import { IdempotencyHealthIndicator } from 'nestjs-atomic-idempotency';
import { DataSource } from 'typeorm';
import { AppModule } from './../src/app.module.js';

/** What both versions understand; the types refuse 'degraded' with terminus 11, which would drop it. */
type DegradedAs = 'up' | 'down';

@Controller('health')
class HealthController {
  constructor(
    @Inject(HealthCheckService) private readonly health: HealthCheckService,
    @Inject(IdempotencyHealthIndicator) private readonly idempotency: IdempotencyHealthIndicator,
  ) {}

  @Get()
  check(@Query('as') degradedAs: DegradedAs) {
    return this.health.check([
      () => this.idempotency.check('idempotency', { degradedAs, maxAge: 0 }),
    ]);
  }
}

@Module({
  imports: [AppModule, TerminusModule.forRoot({ logger: false })],
  controllers: [HealthController],
})
class HealthModule {}

describe('IdempotencyHealthIndicator with the installed terminus (e2e)', () => {
  let app: INestApplication;
  beforeAll(async () => {
    const module = await Test.createTestingModule({ imports: [HealthModule] }).compile();
    app = module.createNestApplication();
    await app.listen(0, '127.0.0.1');
  });
  afterAll(async () => {
    await app.close();
  });

  const probe = async (as: DegradedAs) => {
    const answer = await fetch(`${await app.getUrl()}/health?as=${as}`);
    return { status: answer.status, body: await answer.json() };
  };

  it('is up where everything works', async () => {
    const { status, body } = await probe('up');
    expect(status).toBe(200);
    expect(body.info.idempotency).toMatchObject({ status: 'up', degraded: false });
  });

  it('tells of an unknown outcome that is left to people', async () => {
    await app.get<DataSource>(getDataSourceToken(), { strict: false }).query(
      `INSERT INTO idempotency_keys (scope, key, fingerprint, owner, status, locked_until, reconcile_after)
         VALUES ('', 'lost', '', gen_random_uuid(), 'unknown', now(), 'infinity')`,
    );
    const up = await probe('up');
    expect(up.status).toBe(200);
    expect(up.body.info.idempotency).toMatchObject({ status: 'up', degraded: true, unknown: 1 });

    const down = await probe('down');
    expect(down.status).toBe(503);
    expect(down.body.error.idempotency).toMatchObject({ status: 'down', degraded: true });
  });
});
