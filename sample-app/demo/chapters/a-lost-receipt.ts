import type { Chapter } from '../chapter.js';

export const aLostReceipt: Chapter = {
  title: 'A receipt that got lost',
  async tell(stage, narrator) {
    const rider = stage.rider(narrator);
    const request = { path: '/rides', key: 'receipt', body: { origin: 'earth', target: 'moon' } };

    narrator.say('The receipt goes through the outbox: its message commits with the ride, and a');
    narrator.say(
      'worker mails it afterwards. This time the mail goes out, and the answer is lost.',
    );
    await stage.provider.nextReceipts('drop_after');
    const ride = await rider.send(request);
    narrator.expect('the ride does not wait for it', ride.status, 201);

    const sent = performance.now();
    const receipts = await stage.receiptsFor(ride.body.id);
    narrator.event(performance.now() - sent, 'sent again, under the same id');
    narrator.expect('one receipt in the ledger', receipts.length, 1);
  },
};
