import { beforeAll, expect } from '@jest/globals';
import type { AtomicPhase } from 'nestjs-atomic-idempotency';
import type { EntityManager } from 'typeorm';
import { barrier } from '../support/barrier.js';
import { heartbeat } from '../support/heartbeat.js';
import { keyRow } from '../support/idempotent-app.js';
import { needsOneServer } from '../support/one-server.js';
import { describePhases } from '../support/phase-app.js';

const itRefers = needsOneServer('a unique constraint on the id of a key, for a foreign key');

/** A row of the user's that knows which request made it. */
async function createRide(phases: AtomicPhase, tx: EntityManager): Promise<void> {
  await tx.query('INSERT INTO rides (key_id) VALUES ($1)', [phases.current!.id]);
}

describePhases('Foreign keys to a key row', (app) => {
  beforeAll(async () => {
    await app.database.query(`
        CREATE TABLE rides (
          id serial PRIMARY KEY,
          key_id bigint REFERENCES idempotency_keys (id) ON DELETE SET NULL
        )`);
  });

  const rides = () => app.database.query('SELECT key_id FROM rides ORDER BY id');

  itRefers('let a phase reference the key of its request', async () => {
    app.handle('ride', async (phases) => {
      await phases.local('ride_created', (tx) => createRide(phases, tx));
      await phases.foreign('charge_created', {
        call: async () => 1,
        record: (tx) => createRide(phases, tx),
      });
      return 'done';
    });

    await app.crash('charge_created:before_intent', 'ride', 'k');
    expect((await app.post('ride', 'k')).text).toBe('done');

    const { id: key_id } = await keyRow(app.database, 'k');
    expect(await rides()).toEqual([{ key_id }, { key_id }]);

    await app.database.query('DELETE FROM idempotency_keys WHERE id = $1', [key_id]);
    expect(await rides()).toEqual([{ key_id: null }, { key_id: null }]);
  });

  itRefers('do not block heartbeats while such a phase runs', async () => {
    const gate = barrier();
    app.handle('ride', (phases) =>
      phases.local('ride_created', async (tx) => {
        await createRide(phases, tx);
        await gate.pass();
        return 'done';
      }),
    );
    const answer = app.post('ride', 'long');
    await gate.arrived();

    const { locked_until: atFirst } = await keyRow(app.database, 'long');
    await heartbeat(app.app);
    const { locked_until: later } = await keyRow(app.database, 'long');
    expect(later.getTime()).toBeGreaterThan(atFirst.getTime());

    gate.open();
    expect((await answer).text).toBe('done');
  });
});
