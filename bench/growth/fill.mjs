import pg from 'pg';

const BATCH = 500_000;

/**
 * How full requests leave a page. They insert small rows, which grow when their answers come. Rows
 * that are inserted with their answers would leave room for one more, so that each new key would go to
 * another old page.
 */
const FILL_FACTOR = 60;

/**
 * Fills the table of keys with finished keys, as a day of traffic leaves them.
 * The indexes come back when the rows are there: sorted once is much faster than
 * grown at random.
 *
 * @param {string} url
 * @param {number} rows
 * @param {(done: number) => void} progress
 */
export async function fillKeys(url, rows, progress) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(`SET synchronous_commit = off; SET maintenance_work_mem = '1GB'`);
    const rebuild = await dropIndexes(client);
    const { rows: options } = await client.query(
      `SELECT unnest(reloptions) AS option FROM pg_class WHERE oid = 'idempotency_keys'::regclass`,
    );
    await client.query(`ALTER TABLE idempotency_keys SET (fillfactor = ${FILL_FACTOR})`);
    for (let done = 0; done < rows; done += BATCH) {
      await client.query(INSERT, [Math.min(BATCH, rows - done)]);
      progress(done);
    }
    progress(rows);
    await client.query(
      `ALTER TABLE idempotency_keys SET (${options.map(({ option }) => option).join()})`,
    );
    for (const statement of rebuild) await client.query(statement);
    await client.query('VACUUM ANALYZE idempotency_keys');
    await client.query('CHECKPOINT');
  } finally {
    await client.end();
  }
}

const INSERT = `
  INSERT INTO idempotency_keys
    (scope, key, fingerprint, status, recovery_point, owner, locked_until,
     response_status, response_headers, response_body, response_version,
     created_at, last_run_at, completed_at, expires_at)
  SELECT '', gen_random_uuid(), sha256(n::text::bytea), 'completed', 'finished', gen_random_uuid(), at,
         201, '{"content-type": "application/json; charset=utf-8"}',
         convert_to('{"id":"' || gen_random_uuid() || '","object":"payment","status":"accepted","amount":1999,"currency":"EUR","reference":"order 2041-17"}', 'UTF8'),
         1, at, at, at, at + interval '24 hours'
  FROM generate_series(1, $1::int) AS n,
       LATERAL (SELECT now() - random() * interval '23 hours' AS at) AS t`;

/**
 * @param {pg.Client} client
 * @returns {Promise<string[]>} what brings them back
 */
async function dropIndexes(client) {
  const { rows: constraints } = await client.query(
    `SELECT quote_ident(conname) AS name, pg_get_constraintdef(oid) AS definition
     FROM pg_constraint WHERE conrelid = 'idempotency_keys'::regclass AND contype = 'u'`,
  );
  const { rows: indexes } = await client.query(
    `SELECT i.indexrelid::regclass AS name, pg_get_indexdef(i.indexrelid) AS definition
     FROM pg_index i
     WHERE i.indrelid = 'idempotency_keys'::regclass
       AND NOT EXISTS (SELECT FROM pg_constraint c WHERE c.conindid = i.indexrelid)`,
  );
  for (const { name } of constraints) {
    await client.query(`ALTER TABLE idempotency_keys DROP CONSTRAINT ${name}`);
  }
  for (const { name } of indexes) await client.query(`DROP INDEX ${name}`);
  return [
    ...constraints.map(
      ({ name, definition }) => `ALTER TABLE idempotency_keys ADD CONSTRAINT ${name} ${definition}`,
    ),
    ...indexes.map(({ definition }) => definition),
  ];
}
