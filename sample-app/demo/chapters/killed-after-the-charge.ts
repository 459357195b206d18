import type { Chapter } from '../chapter.js';
import { LEASE } from '../stage.js';

export const killedAfterTheCharge: Chapter = {
  title: 'kill -9 after the charge',
  async tell(stage, narrator) {
    const request = { path: '/rides', key: 'crash', body: { origin: 'earth', target: 'europa' } };

    const doomed = stage.app;
    const rider = stage.rider(narrator);
    const started = performance.now();
    await stage.startApp();
    narrator.event(performance.now() - started, `a second process of the app: ${stage.app.pid}`);

    narrator.say('The provider charges the card. Before the first process hears of it,');
    await stage.provider.next('hold_after');
    const connection = rider.send(request).then(
      () => 'answered',
      () => 'broken',
    );
    const [held] = await stage.provider.untilHeld();
    narrator.expect('the charge is in the ledger', held?.bookedAs?.startsWith('ch_'), true);

    const killed = performance.now();
    await doomed.kill();
    narrator.event(performance.now() - killed, `kill -9 ${doomed.pid}`);
    narrator.expect('the client lost its connection', await connection, 'broken');
    narrator.expect('the key is still held', await stage.statusOfKey('crash'), 'in_progress');

    narrator.say(`Ada tries again. The dead process owns the key for ${LEASE} more, its lease.`);
    const retry = await stage.rider(narrator).sendUntilSettled(request);
    narrator.expect('the retry finishes what was begun', retry.status, 201);
    const id = retry.body.id;
    narrator.expect('with the charge of the dead process', retry.body.chargeId, held?.bookedAs);
    narrator.expect('one charge in the ledger', await stage.chargesFor(id), 1);
    narrator.expect('one ride to europa', await stage.count("rides WHERE target = 'europa'"), 1);
    const audits = await stage.count('audit_records WHERE subject = $1', `ride/${id}`);
    narrator.expect('one audit record', audits, 1);
    narrator.expect('one receipt', (await stage.receiptsFor(id)).length, 1);
  },
};
