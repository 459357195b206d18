import { setTimeout as delay } from 'node:timers/promises';
import type { Chapter } from '../chapter.js';

export const aWebhook: Chapter = {
  title: 'A webhook',
  async tell(stage, narrator) {
    const rider = stage.rider(narrator);
    const request = { path: '/rides', key: 'told', body: { origin: 'earth', target: 'moon' } };

    narrator.say('The provider charges, its answer is lost, and Ada does not try again.');
    await stage.provider.next('drop_after');
    narrator.expect('she hears that it failed', (await rider.send(request)).status, 502);

    narrator.say(
      'The provider tells the app by webhook what it did. The effect key says for whom.',
    );
    const begun = performance.now();
    while ((await stage.phaseOfKey('told', 'charge_created')) === 'intended') await delay(20);
    narrator.event(performance.now() - begun, 'POST /webhooks/payments: the doubt is gone');

    narrator.say('Ada never comes back. Her ride is completed without her: its operation is on');
    narrator.say('record, so a worker goes on with that charge, and the provider is not asked.');
    const waited = performance.now();
    while ((await stage.phaseOfKey('told', 'receipt_staged')) !== 'finished') await delay(20);
    narrator.event(performance.now() - waited, 'completed by a worker');

    narrator.say('Should she look after all, she finds it.');
    const retry = await rider.sendUntilSettled(request);
    narrator.expect('she gets her ride', retry.status, 201);
    narrator.expect('one charge in the ledger', await stage.chargesFor(retry.body.id), 1);
    narrator.expect('one receipt', (await stage.receiptsFor(retry.body.id)).length, 1);
  },
};
