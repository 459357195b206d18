import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { PhaseUsageError } from 'nestjs-atomic-idempotency';
import { DataSource } from 'typeorm';
import { describePhases, note } from '../support/phase-app.js';

// Two connections: one would do for all of this but the other data source.
describePhases(
  'Transactions beside phases',
  (app) => {
    let other: DataSource;
    const own = () => app.app.get(DataSource);
    beforeAll(async () => {
      other = await new DataSource(app.database.dataSourceOptions).initialize();
    });
    afterAll(() => other.destroy());

    it('of another data source may contain a phase', async () => {
      app.handle('ride', (phases) =>
        other.transaction(() => phases.local('ride_created', (tx) => note(tx, 'ride'))),
      );
      expect((await app.post('ride', 'other')).status).toBe(201);
      expect(await app.notes()).toEqual(['ride']);
    });

    it.each(['committed', 'rolled-back', 'ended-by-hand'])(
      'that are %s may be followed by a phase',
      async (end) => {
        app.handle('ride', async (phases) => {
          const runner = own().createQueryRunner();
          await runner.startTransaction();
          if (end === 'committed') await runner.commitTransaction();
          if (end === 'rolled-back') await runner.rollbackTransaction();
          if (end === 'ended-by-hand') await runner.query('ROLLBACK');
          await runner.release();
          await phases.local('ride_created', (tx) => note(tx, 'ride'));
        });
        expect((await app.post('ride', end)).status).toBe(201);
      },
    );

    it('stay open when a savepoint in them ends', async () => {
      let refused: unknown;
      app.handle('ride', (phases) =>
        own().transaction(async (outer) => {
          await outer.transaction(async () => undefined);
          await phases.local('ride_created', (tx) => note(tx, 'ride')).catch((e) => (refused = e));
        }),
      );
      expect((await app.post('ride', 'savepoint')).status).toBe(201);
      expect(refused).toBeInstanceOf(PhaseUsageError);
      expect(await app.notes()).toEqual([]);
    });

    it('that were refused do not stop the handler from continuing without them', async () => {
      app.handle('ride', async (phases) => {
        const create = () => phases.local('ride_created', (tx) => note(tx, 'ride'));
        const charge = () => phases.foreign('charge_created', { call: async () => 1 });
        await own().transaction(async () => {
          await expect(create()).rejects.toThrow(PhaseUsageError);
          await expect(charge()).rejects.toThrow(PhaseUsageError);
        });
        await create();
        await charge();
      });
      expect((await app.post('ride', 'goes-on')).status).toBe(201);
      expect(await app.notes()).toEqual(['ride']);
    });

    it('inside a phase are savepoints', async () => {
      app.handle('ride', async (phases) => {
        for (const name of ['first', 'second']) {
          await phases.local(name, (tx) => tx.transaction((inner) => note(inner, name)));
        }
      });
      expect((await app.post('ride', 'inner')).status).toBe(201);
      expect(await app.notes()).toEqual(['first', 'second']);
    });
  },
  { dataSource: { poolSize: 2 }, idempotency: { foreignCalls: 'throw' } },
);
