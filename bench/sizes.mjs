// node bench/sizes.mjs   what a row takes on disk, with its share of the indexes: a few seconds
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import { startEmbeddedPostgres } from '../sample-app/database/embedded-postgres.mjs';
import { compileSources, removeBuild } from '../test/support/compile.mjs';
import { figure, table } from './report/format.mjs';
import { migrate } from './setup/migrate.mjs';

/** Enough that pages which are not full do not count. */
const ROWS = 100_000;

/**
 * As a busy process writes them: reserved 25 at a time and finished a moment later, so that room
 * on the pages and the growth of the indexes are those of real requests.
 */
const KEYS = `
  DO $$
  DECLARE
    before bigint := 0;
  BEGIN
    FOR batch IN 1..${ROWS / 25} LOOP
      INSERT INTO idempotency_keys
        (scope, key, fingerprint, owner, locked_until, expires_at, method, route, path)
      SELECT '', gen_random_uuid(), sha256(n::text::bytea), gen_random_uuid(),
             now() + interval '30 seconds', now() + interval '24 hours', 'POST', '/payments', '/payments'
      FROM generate_series(1, 25) AS n;
      COMMIT;
      UPDATE idempotency_keys
      SET status = 'completed', recovery_point = 'finished', response_status = 201,
          response_headers = '{"content-type": "application/json; charset=utf-8"}',
          response_body = convert_to('{"id":"' || gen_random_uuid() || '","object":"payment","status":"accepted","amount":1999,"currency":"EUR","reference":"order 2041-17"}', 'UTF8'),
          response_version = 1, completed_at = now()
      WHERE id > before;
      COMMIT;
      SELECT max(id) INTO before FROM idempotency_keys;
    END LOOP;
  END $$`;

const PHASES = `
  INSERT INTO idempotency_phases
    (scope, key_id, name, position, kind, state, attempt, effect_key, in_doubt, result, finished_at)
  SELECT scope, id, 'charge_created', 1, 'foreign', 'finished', 1, gen_random_uuid(), 'repeat',
         '{"id":"ch_3PqA8X2eZvKYlo2C","amount":1999}', now()
  FROM idempotency_keys`;

const MESSAGES = `
  INSERT INTO idempotency_outbox (id, topic, payload)
  SELECT gen_random_uuid(), 'orders.confirm', '{"order":204117,"to":"somebody@example.com"}'
  FROM generate_series(1, $1::int)`;

const SIZES = `
  SELECT pg_table_size(name)::float8 / $2 AS heap, pg_indexes_size(name)::float8 / $2 AS indexes
  FROM (SELECT $1::regclass AS name) t`;

const build = await compileSources(`${process.pid}_${randomBytes(4).toString('hex')}`);
const server = await startEmbeddedPostgres({ durable: false });
try {
  const { idempotencyMigrations } = await import(
    pathToFileURL(join(build, 'migrations/index.js')).href
  );
  await migrate(server.url, idempotencyMigrations);
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  await client.query(KEYS);
  await client.query(PHASES);
  await client.query(MESSAGES, [ROWS]);
  const rows = [];
  for (const [label, name] of /** @type {const} */ ([
    ['a finished key with an answer of 150 bytes', 'idempotency_keys'],
    ['a finished foreign phase', 'idempotency_phases'],
    ['a message that waits', 'idempotency_outbox'],
  ])) {
    const {
      rows: [size],
    } = await client.query(SIZES, [name, ROWS]);
    const { heap, indexes } = size;
    rows.push([label, ...[heap, indexes, heap + indexes].map(figure)]);
  }
  await client.end();
  console.log(table(['bytes of', 'table', 'indexes', 'together'], rows));
} finally {
  await server.stop();
  await removeBuild(build);
}
