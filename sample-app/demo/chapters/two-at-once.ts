import type { Chapter } from '../chapter.js';

export const twoAtOnce: Chapter = {
  title: 'Two at once',
  async tell(stage, narrator) {
    const rider = stage.rider(narrator);
    const request = {
      path: '/rides',
      key: 'double-tap',
      body: { origin: 'earth', target: 'moon' },
    };

    narrator.say('Ada taps the button twice. The first request is still at the provider,');
    await stage.provider.next('hold_after');
    const first = rider.send(request);
    await stage.provider.untilHeld();

    narrator.say('when the second one arrives.');
    const second = await rider.send(request);
    narrator.expect(
      'the second is told to wait',
      [second.status, second.body.code],
      [409, 'in_progress'],
    );
    narrator.expect('and for how long', second.retryAfter >= 1, true);

    await stage.provider.release();
    const { status, body, text } = await first;
    narrator.expect('the first succeeds', status, 201);
    const third = await rider.send(request);
    narrator.expect('a later retry gets the same answer', third.text, text);
    narrator.expect('one charge in the ledger', await stage.chargesFor(body.id), 1);
  },
};
