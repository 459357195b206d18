import type { Chapter } from '../chapter.js';

export const aDoubt: Chapter = {
  title: 'A doubt',
  async tell(stage, narrator) {
    const rider = stage.rider(narrator);
    const ride = await rider.send({
      path: '/rides',
      key: 'generous',
      body: { origin: 'earth', target: 'moon' },
    });
    const tips = `/rides/${ride.body.id}/tips`;
    const request = { path: tips, key: 'tip', body: { amount: 500 } };

    narrator.say('A tip goes through an interface of the provider that knows no keys.');
    narrator.say('It pays, and its answer is lost. Nobody here can know that it paid.');
    await stage.provider.next('drop_after');
    const first = await rider.send(request);
    narrator.expect(
      'neither success nor failure is claimed',
      [first.status, first.body.code],
      [409, 'outcome_unknown'],
    );
    narrator.expect('the key is kept as unknown', await stage.statusOfKey('tip'), 'unknown');

    narrator.say('Trying again could pay twice, so a retry is told the same.');
    const retry = await rider.send(request);
    narrator.expect(
      'it is still not known',
      [retry.status, retry.body.code],
      [409, 'outcome_unknown'],
    );
    const [transfer, ...others] = await stage.provider.transfers();
    narrator.expect('one transfer in the ledger', [transfer?.amount, others], [500, []]);

    narrator.say(
      'A person finds it in the books of the provider, and says so on the operator page.',
    );
    const { preview, done } = await stage.operator(narrator).resolve('tip', {
      outcome: 'executed',
      result: JSON.stringify({ transferId: transfer?.id, declined: null }),
      reason: 'The transfer is in the books',
      evidence: transfer?.id ?? '',
    });
    narrator.expect(
      'the page told what would happen, before anything did',
      preview.includes('The call is not made again.'),
      true,
    );
    narrator.expect('then it was done', done.includes('It is resolved.'), true);

    narrator.say('The next retry goes on with what the person found.');
    const last = await rider.send(request);
    narrator.expect('the tip is there', last.status, 201);
    narrator.expect(
      'and still one transfer in the ledger',
      (await stage.provider.transfers()).length,
      1,
    );
  },
};
