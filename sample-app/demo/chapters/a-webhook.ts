import { setTimeout as delay } from 'node:timers/promises';
import type { Chapter } from '../chapter.js';

export const aWebhook: Chapter = {
  title: 'A webhook',
  async tell(stage, narrator) {
    const rider = stage.rider(narrator);
    const request = { path: '/rides', key: 'told', body: { origin: 'earth', target: 'moon' } };

    narrator.say('The provider charges, its answer is lost, and Ada does not try again for now.');
    await stage.provider.next('drop_after');
    narrator.expect('she hears that it failed', (await rider.send(request)).status, 502);

    narrator.say(
      'The provider tells the app by webhook what it did. The effect key says for whom.',
    );
    const begun = performance.now();
    while ((await stage.phaseOfKey('told', 'charge_created')) === 'intended') await delay(20);
    narrator.event(performance.now() - begun, 'POST /webhooks/payments');
    narrator.expect(
      'the doubt is gone',
      await stage.phaseOfKey('told', 'charge_created'),
      'reconciled',
    );

    narrator.say(
      'When Ada comes back, the ride goes on with that charge: the provider is not asked.',
    );
    const retry = await rider.send(request);
    narrator.expect('she gets her ride', retry.status, 201);
    narrator.expect('one charge in the ledger', await stage.chargesFor(retry.body.id), 1);
  },
};
