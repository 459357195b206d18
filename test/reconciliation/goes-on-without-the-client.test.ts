import { HttpException, Injectable } from '@nestjs/common';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Reconciler, type DoubtfulEffect, type Reconciliation } from 'nestjs-atomic-idempotency';
import { Provider, Rides, ridesController, timedOut } from '../background/rides.js';
import { send } from '../support/http.js';
import { keyRow, startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { runJob } from '../support/jobs.js';
import { operatorOf } from '../support/operator.js';
import { forEachPlatform } from '../support/platforms.js';

/** Charges, and may lose its answer. */
class LossyProvider extends Provider {
  losesAnswer = false;

  override charge(effectKey: string): { charge: string } {
    const charge = super.charge(effectKey);
    if (this.losesAnswer) timedOut();
    return charge;
  }
}

/** Asks the provider of the rides for its books. */
@Injectable()
class Books {
  constructor(private readonly provider: Provider) {}

  @Reconciler('charge_created')
  lookUp({ idempotencyKey }: DoubtfulEffect): Reconciliation {
    return this.provider.charges.includes(idempotencyKey)
      ? { outcome: 'executed', result: { charge: idempotencyKey } }
      : { outcome: 'not_executed' };
  }
}

forEachPlatform('A resolution without the client', (platform) => {
  let app: IdempotentApp;
  let provider: LossyProvider;
  beforeAll(async () => {
    app = await startIdempotentApp(platform, {
      controllers: [ridesController()],
      providers: [Rides, { provide: Provider, useClass: LossyProvider }, Books],
      logger: false,
    });
    provider = app.app.get(Provider);
    await app.database.query('CREATE TABLE rides (id serial, target text)');
  });
  afterAll(() => app.close());

  const ride = (key: string) =>
    send(`${app.url}/rides`, { key, body: { target: 'mars', inDoubt: 'stop' } });

  it('executed: the completer continues with the result', async () => {
    provider.charges.length = 0;
    provider.losesAnswer = true;
    expect((await ride('lost')).json()).toMatchObject({ code: 'outcome_unknown' });
    provider.losesAnswer = false;
    await runJob(app, 'reconciler');
    expect(await runJob(app, 'completer')).toBe(1);
    expect(await keyRow(app.database, 'lost')).toMatchObject({ status: 'performed' });
    expect((await ride('lost')).json()).toMatchObject({ charge: provider.charges[0] });
    expect(provider.charges).toHaveLength(1);
  });

  it('not executed: the completer makes the call', async () => {
    provider.charges.length = 0;
    provider.troubles.push(timedOut);
    await ride('never-made');
    await runJob(app, 'reconciler');
    await runJob(app, 'completer');
    expect(provider.charges).toHaveLength(1);
    expect((await ride('never-made')).status).toBe(201);
  });

  it('rejected by a person: the operation ends with that', async () => {
    provider.troubles.push(timedOut);
    await ride('declined');
    const { id } = await keyRow(app.database, 'declined');
    const { inDoubt } = (await operatorOf(app).inspect(id))!;
    const error = new HttpException({ declined: true }, 402);
    await operatorOf(app).resolve(inDoubt!.effectKey, { outcome: 'rejected', error }, 'support');
    await runJob(app, 'completer');
    expect((await ride('declined')).status).toBe(402);
  });
});
