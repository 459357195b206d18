import type { Chapter } from '../chapter.js';

export const aRide: Chapter = {
  title: 'A ride',
  async tell(stage, narrator) {
    const rider = stage.rider(narrator);
    const request = { path: '/rides', key: 'first', body: { origin: 'earth', target: 'moon' } };

    narrator.say('Ada asks for a ride. Three steps: the ride, the charge, the receipt.');
    const first = await rider.send(request);
    narrator.expect('the ride is created', first.status, 201);
    narrator.expect('it is paid', await stage.chargesFor(first.body.id), 1);
    narrator.expect('the receipt is mailed', (await stage.receiptsFor(first.body.id)).length, 1);

    narrator.say('She sends the same request again.');
    const second = await rider.send(request);
    narrator.expect('the answer is the stored one, byte for byte', second.text, first.text);
    narrator.expect('and says so', second.replayed, true);

    narrator.say('Grace happens to use the same key. Keys of two users never meet.');
    const other = await stage.rider(narrator, 1).send(request);
    narrator.expect('she gets a ride of her own', other.body.id !== first.body.id, true);
  },
};
