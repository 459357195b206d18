import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { severalHosts } from 'nestjs-atomic-idempotency';
import { send, type Received } from '../support/http.js';
import { startIdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { startPostgresProxy } from '../support/postgres-proxy.js';
import { FINISH, RESERVE } from '../support/store-statements.js';
import { Ledger, ORDERS_TABLE, ordersController } from './orders.js';
import { createTemplate, type ServerTemplate } from './replicated-servers.js';

const CLIENTS = 24;

let template: ServerTemplate;
beforeAll(async () => {
  template = await createTemplate([ORDERS_TABLE]);
});
afterAll(() => template.remove());

forEachPlatform('A primary that is killed under load, with a synchronous standby', (platform) => {
  it('costs clients some 503s: no effect is doubled, and no recorded answer is lost', async () => {
    const pair = await template.startPair();
    await pair.synchronous(true);
    const proxy = await startPostgresProxy(pair.primary.url);
    const ledger = new Ledger();
    const hosts = `${new URL(proxy.url).host},${new URL(pair.standby.url).host}`;
    const url = `${pair.primary.url.replace(/@[^/]*/, `@${hosts}`)}?target_session_attrs=read-write`;
    const app = await startIdempotentApp(platform, {
      controllers: [ordersController(ledger)],
      database: pair.primary,
      dataSource: { poolSize: 8, ...severalHosts(url) },
      // Longer than a promotion takes on a busy machine: a request may wait it out.
      idempotency: { storeTimeout: '25s', lease: '60s' },
      logger: false,
    });
    const order = (key: string): Promise<Received> =>
      send(`${app.url}/orders`, { key, body: { number: key } });

    const answers = new Map<string, Received>();
    const refusals: Received[] = [];
    /** As a client does: again with the same key until there is an answer. */
    const insist = async (key: string) => {
      for (;;) {
        const answer = await order(key);
        if (answer.status === 201) return void answers.set(key, answer);
        refusals.push(answer);
        await pause(50);
      }
    };

    await Promise.all(['first', 'second'].map(insist));
    // The fate of these two is unknown to the process: the primary has committed, and dies before
    // its reply arrives.
    const reserving = proxy.holdReply(RESERVE);
    const unsureReservation = order('unsure-reservation');
    await reserving.answered;
    const recording = proxy.holdReply(FINISH);
    const unsureRecording = order('unsure-recording');
    await recording.answered;
    const before = answers.size;
    const load = Promise.all(Array.from({ length: CLIENTS }, (_, i) => insist(`load-${i}`)));
    while (answers.size < before + 3) await pause(5);

    await pair.primary.kill();
    await proxy.close();
    await pair.promote();
    await load;

    // Recognised by their owner: their first request is answered, and nobody had to retry it.
    for (const [key, unsure] of Object.entries({
      'unsure-reservation': unsureReservation,
      'unsure-recording': unsureRecording,
    })) {
      const answer = await unsure;
      expect({ key, status: answer.status }).toEqual({ key, status: 201 });
      answers.set(key, answer);
    }
    for (const refusal of refusals) {
      expect([503, 409]).toContain(refusal.status);
      expect(refusal.headers.get('retry-after')).toMatch(/^[1-9]\d?$/);
    }
    expect(answers.size).toBe(CLIENTS + 4);
    for (const [key, answer] of answers) {
      const replay = await order(key);
      expect([replay.status, replay.text]).toEqual([201, answer.text]);
      expect(replay.headers.get('idempotent-replayed')).toBe('true');
      expect({ key, charges: ledger.of(key).length }).toEqual({ key, charges: 1 });
    }
    const orders = await pair.standby.query<{ number: string }>('SELECT number FROM orders');
    expect(orders.map(({ number }) => number).toSorted()).toEqual([...answers.keys()].toSorted());
    await app.close();
    await pair.close();
  });
});
