import type { Chapter } from '../chapter.js';

export const anotherBody: Chapter = {
  title: 'The same key, another request',
  async tell(stage, narrator) {
    const rider = stage.rider(narrator);
    const request = { path: '/rides', key: 'reused', body: { origin: 'earth', target: 'moon' } };

    narrator.say('A bug in the client: it uses a key again for another ride.');
    const first = await rider.send(request);
    const rides = await stage.count('rides');
    const other = await rider.send({ ...request, body: { origin: 'earth', target: 'europa' } });
    narrator.expect('it is refused', [other.status, other.body.code], [422, 'key_reused']);
    narrator.expect('no ride was made', await stage.count('rides'), rides);

    narrator.say('Member order is no difference, though.');
    const same = await rider.send({ ...request, body: { target: 'moon', origin: 'earth' } });
    narrator.expect('the record is unharmed', same.text, first.text);
  },
};
