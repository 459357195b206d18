// The table that the reaper is let loose on.
import pg from 'pg';

const BATCH = 250_000;
/** Every so many keys past their retention, one is unknown and has to stay. */
const ONE_UNKNOWN_IN = 1_000;

/**
 * Keys past their retention, a tenth of them with two phases, with unknown ones
 * among them; and keys whose time has not come.
 *
 * @param {string} url
 * @param {{ expired: number, young: number }} counts
 * @param {(done: number) => void} progress
 * @returns {Promise<number>} how many the reaper has to remove
 */
export async function fill(url, { expired, young }, progress) {
  await withClient(url, async (client) => {
    await client.query('SET synchronous_commit = off');
    for (let done = 0; done < expired; done += BATCH) {
      await client.query(INSERT, ['old', done, Math.min(BATCH, expired - done), '-25 hours']);
      progress(done);
    }
    await client.query(INSERT, ['young', 0, young, '-1 hour']);
    await client.query(
      `UPDATE idempotency_keys SET status = 'unknown' WHERE scope = 'old' AND id % ${ONE_UNKNOWN_IN} = 0`,
    );
    await client.query(
      `INSERT INTO idempotency_phases (scope, key_id, name, position, kind, state, attempt, result)
       SELECT scope, id, 'phase_' || p, p, 'local', 'finished', 1, '{"id": 42}'
       FROM idempotency_keys, generate_series(1, 2) AS p WHERE id % 10 = 1`,
    );
    await client.query('VACUUM ANALYZE idempotency_keys, idempotency_phases');
    await client.query('CHECKPOINT');
  });
  return expired - Math.floor(expired / ONE_UNKNOWN_IN);
}

/**
 * What is left in the end.
 *
 * @param {string} url
 * @returns {Promise<{ expired: number, young: number, unknown: number, live: number }>}
 */
export async function count(url) {
  return withClient(url, async (client) => {
    const { rows } = await client.query(
      `SELECT count(*) FILTER (WHERE scope = 'old' AND status = 'completed')::int AS expired,
              count(*) FILTER (WHERE scope = 'young')::int AS young,
              count(*) FILTER (WHERE status = 'unknown')::int AS unknown,
              count(*) FILTER (WHERE scope = '')::int AS live
       FROM idempotency_keys`,
    );
    return rows[0];
  });
}

/** One after the other in the order of time, as requests leave them. */
const INSERT = `
  INSERT INTO idempotency_keys
    (scope, key, fingerprint, status, recovery_point, owner, locked_until,
     response_status, response_headers, response_body, response_version,
     created_at, last_run_at, completed_at, expires_at)
  SELECT $1, gen_random_uuid(), sha256(n::text::bytea), 'completed', 'finished', gen_random_uuid(), at,
         201, '{"content-type": "application/json; charset=utf-8"}',
         convert_to('{"id":"' || gen_random_uuid() || '","object":"payment","status":"accepted","amount":1999,"currency":"EUR","reference":"order 2041-17"}', 'UTF8'),
         1, at, at, at, at + interval '24 hours'
  FROM generate_series($2::int + 1, $2::int + $3::int) AS n,
       LATERAL (SELECT now() + $4::interval - interval '12 hours' + n * interval '40 milliseconds' AS at) AS t`;

/**
 * @template T
 * @param {string} url
 * @param {(client: pg.Client) => Promise<T>} work
 */
async function withClient(url, work) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
