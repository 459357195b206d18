import type { EntityManager } from 'typeorm';
import type { TestDatabase } from '../../support/database.js';

export async function insertOrder(tx: EntityManager, item = 'rocket'): Promise<{ id: number }> {
  const [order] = await tx.query<{ id: number }[]>(
    'INSERT INTO orders (item) VALUES ($1) RETURNING id',
    [item],
  );
  return order!;
}

/** The tables that the handlers write to. */
export async function createTables(database: TestDatabase): Promise<void> {
  await database.query(`
    CREATE TABLE orders (id serial PRIMARY KEY, item text, charge text, created_at timestamptz DEFAULT now());
    CREATE TABLE logs (id serial, text text);
    CREATE TABLE parcels (id serial PRIMARY KEY, state text);
    CREATE TABLE seats (seat int PRIMARY KEY, taken boolean NOT NULL DEFAULT false);
    INSERT INTO seats SELECT generate_series(0, 200);
    CREATE TABLE stock (id int PRIMARY KEY, left_over int);
    CREATE TABLE customers (name text PRIMARY KEY, orders int, seen_at timestamptz);
    CREATE FUNCTION note_order() RETURNS void LANGUAGE sql AS $$ INSERT INTO logs (text) VALUES ('ordered') $$;
    INSERT INTO stock VALUES (1, 1000000);
  `);
}
