import type { Chapter } from '../chapter.js';

export const aLostAnswer: Chapter = {
  title: 'A lost answer',
  async tell(stage, narrator) {
    const rider = stage.rider(narrator);
    const request = { path: '/rides', key: 'tunnel', body: { origin: 'earth', target: 'mars' } };

    narrator.say('Ada drives into a tunnel: her connection breaks while the card is charged.');
    await stage.provider.next('hold_after');
    const tunnel = new AbortController();
    const sent = rider.sendAndHangUp(request, tunnel.signal);
    await stage.provider.untilHeld();
    tunnel.abort();
    await sent;
    await stage.provider.release();

    narrator.say('The app finishes the work all the same. Ada is back and sends it again.');
    const retry = await rider.sendUntilSettled(request);
    narrator.expect('she gets the answer that was lost', retry.status, 201);
    narrator.expect('from the record', retry.replayed, true);
    narrator.expect('one charge in the ledger', await stage.chargesFor(retry.body.id), 1);
  },
};
