// node bench/sizes.mjs   what a row takes on disk, with its share of the indexes: a few seconds
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import { DataSource } from 'typeorm';
import { startEmbeddedPostgres } from '../sample-app/database/embedded-postgres.mjs';
import { compileSources, removeBuild } from '../test/support/compile.mjs';
import { fillKeys } from './growth/fill.mjs';
import { figure, table } from './report/format.mjs';

/** Enough that pages which are not full do not count. */
const ROWS = 100_000;

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
  const source = new DataSource({
    type: 'postgres',
    url: server.url,
    migrations: idempotencyMigrations,
  });
  await source.initialize();
  await source.runMigrations();
  await source.destroy();
  await fillKeys(server.url, ROWS, () => {});
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
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
