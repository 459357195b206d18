import { afterEach, beforeAll, describe, expect } from '@jest/globals';
import { keyRow } from '../support/idempotent-app.js';
import { needsOneServer } from '../support/one-server.js';
import { withTransaction } from '../support/transactions.js';
import { describeExpiry, type ExpiringApp } from './expiring-app.js';

/** Tables of the user's, with a row for each of two keys. */
async function refer(app: ExpiringApp, table: string): Promise<void> {
  for (const key of ['one', 'two']) {
    await app.ask('orders', key);
    const { id } = await keyRow(app.database, key);
    await app.database.query(`INSERT INTO ${table} (key_id) VALUES ($1)`, [id]);
  }
  await app.outlive('one', 'two');
}

const itRefers = needsOneServer('a unique constraint on the id of a key, for a foreign key');

describeExpiry('References to keys', (app) => {
  beforeAll(async () => {
    for (const [table, action] of [
      ['orders', 'SET NULL'],
      ['strict_orders', 'RESTRICT'],
    ]) {
      await app.database.query(
        `CREATE TABLE ${table} (id serial PRIMARY KEY,
           key_id bigint REFERENCES idempotency_keys (id) ON DELETE ${action})`,
      );
    }
  });
  // Or the next test could not remove the keys of this one.
  afterEach(() => app.database.query('TRUNCATE orders, strict_orders'));

  describe('A row of the user that references a key', () => {
    itRefers('stays without the key, with ON DELETE SET NULL', async () => {
      await refer(app, 'orders');
      expect(await app.reap()).toBe(2);
      expect(await app.left()).toEqual({});
      expect(await app.database.query('SELECT key_id FROM orders')).toEqual([
        { key_id: null },
        { key_id: null },
      ]);
    });

    itRefers('in use by a transaction delays its own key only', async () => {
      await refer(app, 'orders');
      await app.ask('orders', 'unreferenced');
      await app.outlive('unreferenced');
      const one = await keyRow(app.database, 'one');
      await withTransaction(app.database, async (tx) => {
        await tx.query('SELECT FROM orders WHERE key_id = $1 FOR UPDATE', [one.id]);
        expect(await app.reap()).toBe(2);
        expect(await app.left()).toEqual({ one: 'completed' });
      });
      expect(app.logs).toContainEqual(
        expect.stringMatching(`1 idempotency key.*such as ${one.id}.*lock timeout`),
      );
      expect(await app.reap()).toBe(1);
      expect(await app.left()).toEqual({});
    });

    itRefers(
      'that forbids the removal of its key stops no other, and the log says what to do',
      async () => {
        await refer(app, 'strict_orders');
        await app.ask('orders', 'unreferenced');
        await app.outlive('unreferenced');
        expect(await app.reap()).toBe(1);
        expect(await app.left()).toEqual({ one: 'completed', two: 'completed' });
        expect(app.logs).toContainEqual(
          expect.stringMatching(/2 idempotency key\(s\).*strict_orders.*ON DELETE SET NULL/),
        );
      },
    );

    itRefers('that is being inserted prevents the removal of its key', async () => {
      await app.ask('orders', 'one');
      const { id } = await keyRow(app.database, 'one');
      await app.outlive('one');
      await withTransaction(app.database, async (tx) => {
        await tx.query('INSERT INTO orders (key_id) VALUES ($1)', [id]);
        expect(await app.reap()).toBe(0);
        await tx.query('COMMIT');
      });
      expect(await app.reap()).toBe(1);
    });
  });
});
