import { expect, it } from '@jest/globals';
import { Outbox } from 'nestjs-atomic-idempotency';
import { describePhases, note } from '../support/phase-app.js';
import { messages } from './messages.js';

describePhases('A message that a phase adds', (app) => {
  const handle = () =>
    app.handle('order', async (phases, body: { fails?: boolean } | undefined) => {
      const outbox = app.app.get(Outbox);
      const message = await phases.local('confirmed', async (tx) => {
        await note(tx, 'confirmed');
        const id = await outbox.add(tx, 'confirmations', { to: 'ada' });
        if (body?.fails) throw new Error('after the message was added');
        return id;
      });
      return { message };
    });

  it('commits with the phase, once per key, wherever the process dies', async () => {
    handle();
    for (const point of ['confirmed:before_commit', 'confirmed:after_commit']) {
      const key = `dies-at-${point}`;
      await app.database.query('TRUNCATE notes, idempotency_outbox');
      await app.crash(point, 'order', key);
      const committed = point.endsWith('after_commit');
      expect(await messages(app.database)).toHaveLength(committed ? 1 : 0);
      if (!committed) continue; // what no phase has recorded is not run again

      const retry = await app.post('order', key);
      const [message, ...others] = await messages(app.database);
      expect(others).toEqual([]);
      expect(message).toMatchObject({ topic: 'confirmations', payload: { to: 'ada' } });
      expect(retry.json()).toEqual({ message: message!.id });
      expect(await app.notes()).toEqual(['confirmed']);
    }
  });

  it('is rolled back with a phase that fails', async () => {
    handle();
    await app.database.query('TRUNCATE idempotency_outbox');
    const failed = await app.post('order', 'fails', { body: { fails: true } });
    expect(failed.status).toBe(500);
    expect(await messages(app.database)).toEqual([]);
    expect(await app.notes()).toEqual([]);
  });
});
