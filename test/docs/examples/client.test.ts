import { Body, Controller, Post } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Idempotent } from 'nestjs-atomic-idempotency';
import { DataSource } from 'typeorm';
import { startScriptedServer, type ScriptedServer } from '../../client/scripted-server.js';
import { describeKeyStore } from '../../client/store-contract.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { send } from '../../support/http.js';
import { startIdempotentApp, type IdempotentApp } from '../../support/idempotent-app.js';
import { forEachPlatform } from '../../support/platforms.js';
import { ReservationsService } from './reservations.service.js';
import { payoutKeys } from './row-keys.js';

describe('The example of keys in rows', () => {
  let database: TestDatabase;
  let dataSource: DataSource;
  beforeAll(async () => {
    database = await createTestDatabase();
    dataSource = await new DataSource(database.dataSourceOptions).initialize();
    await dataSource.query('CREATE TABLE payouts (id text PRIMARY KEY, request_key jsonb)');
    await dataSource.query(
      `INSERT INTO payouts VALUES ('there'), ('at-once'), ('changes'), ('forgets')`,
    );
  });
  afterAll(async () => {
    await dataSource.destroy();
    await database.drop();
  });

  describeKeyStore(
    () => payoutKeys(dataSource),
    (test) => test,
  );

  it('refuses a name that is no row', async () => {
    const key = { key: 'k', fingerprint: '', attempts: 0, expires: 0 };
    await expect(async () => payoutKeys(dataSource).add('nobody', key)).rejects.toThrow(
      'There is no payout nobody.',
    );
  });
});

@Controller()
class ReservationsController {
  constructor(private readonly reservations: ReservationsService) {}

  @Post('reservations')
  @Idempotent({ phased: true })
  reserve(@Body() { item }: { item: string }) {
    return this.reservations.reserve(item);
  }
}

forEachPlatform('The example of a client in a phase', (platform) => {
  let app: IdempotentApp;
  let warehouse: ScriptedServer;
  beforeAll(async () => {
    warehouse = await startScriptedServer();
    process.env.WAREHOUSE_URL = warehouse.url;
    app = await startIdempotentApp(platform, {
      controllers: [ReservationsController],
      providers: [ReservationsService],
    });
  });
  afterAll(async () => {
    delete process.env.WAREHOUSE_URL;
    await Promise.all([app.close(), warehouse.close()]);
  });

  it('reserves under the effect key', async () => {
    warehouse.play('reset', { status: 201, body: { id: 'r1' } });
    const answer = await send(`${app.url}/reservations`, { key: 'one', body: { item: 'rocket' } });
    expect([answer.status, answer.json()]).toEqual([201, { id: 'r1' }]);
    const [phase] = await app.database.query('SELECT effect_key FROM idempotency_phases');
    expect(warehouse.requests.map(({ key }) => key)).toEqual([
      phase!.effect_key,
      phase!.effect_key,
    ]);
  });
});
