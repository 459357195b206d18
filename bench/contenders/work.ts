/** What a local step does: one row, so that a step is as long as the shortest one that users have. */
import pg from 'pg';

export const INSERT_WORK = 'INSERT INTO bench_work (step, amount) VALUES ($1, $2)';

export const WORK = `
  CREATE TABLE IF NOT EXISTS bench_work (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    step text NOT NULL,
    amount int NOT NULL
  )`;

/** Makes the table for it, before the server takes requests. */
export async function prepareWork(): Promise<void> {
  const client = new pg.Client({ connectionString: process.env.BENCH_DATABASE_URL! });
  await client.connect();
  await client.query(WORK);
  await client.end();
}
