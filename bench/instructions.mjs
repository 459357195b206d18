// node bench/instructions.mjs   what our statements cost PostgreSQL, in instructions: half a minute,
//                               needs valgrind
import { randomBytes, randomUUID } from 'node:crypto';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import { startEmbeddedPostgres } from '../sample-app/database/embedded-postgres.mjs';
import { writeResults } from './report/files.mjs';
import { figure, table } from './report/format.mjs';
import { build, buildFolder } from './setup/build.mjs';
import { CountedPostgres } from './setup/counted-postgres.mjs';
import { migrate } from './setup/migrate.mjs';

/** How many keys there are before. */
const KEYS = 40_000;
/** How many requests share a statement. */
const TOGETHER = 12;

const OWNER = '00000000-0000-4000-8000-000000000000';
const HEADERS = '{"content-type":"application/json; charset=utf-8"}';
const RESULT = '{"done":true}';
const BODY = Buffer.from(
  JSON.stringify({
    id: randomUUID(),
    status: 'accepted',
    amount: 1999,
    reference: 'order 2041-17',
  }),
);

/** Functions of PostgreSQL that do not contain one another. */
const PARTS = /** @type {const} */ ([
  ['to begin', ['ExecutorStart']],
  ['arrays', ['array_in']],
  ['to sort', ['ExecSort']],
  ['to look for new keys', ['ExecCheckIndexConstraints']],
  ['to write indexes', ['ExecInsertIndexTuples']],
  ['to find keys', ['IndexNext']],
  ['to write rows', ['heap_insert', 'heap_update']],
  ['constraints', ['ExecConstraints']],
]);

await CountedPostgres.check();
await build(['root']);
const from = (/** @type {string} */ file) =>
  import(pathToFileURL(join(buildFolder('root'), file)).href);
const { idempotencyMigrations } = await from('migrations/index.js');
const { OUTCOMES, RESERVATIONS, reserveAndFinishSql } = await from('lib/keys/key-statements.js');
const { ENTRIES, ENTRIES_AFTER, localEndSql, recordSql } = await from(
  'lib/phases/phase-statements.js',
);
const { KEPT, WRITE } = await from('contenders/kept.js');
const { INSERT_WORK, WORK } = await from('contenders/work.js');

const folder = await mkdtemp(join(tmpdir(), 'bench-instructions-'));
try {
  await chmod(folder, 0o711);
  await prepare(join(folder, 'server'));
  const postgres = new CountedPostgres(join(folder, 'server'), join(folder, 'scratch'));
  const rows = [];
  for (const [label, statement, round] of statements()) {
    const before = [`PREPARE counted AS ${statement}`, `SET plan_cache_mode = force_generic_plan`];
    const execute = (/** @type {number} */ number) => [
      `EXECUTE counted (${round(number).map(literal).join()})`,
    ];
    rows.push([label, ...costs(await postgres.each(before, execute))]);
  }
  const work = INSERT_WORK.replace('$1', `'charged'`).replace('$2', '1999');
  const transaction = await postgres.each([], () => ['BEGIN', work, 'COMMIT']);
  const columns = ['thousand instructions', 'all', ...PARTS.map(([label]) => label)];
  const markdown = [
    '`node bench/instructions.mjs`: what one statement costs PostgreSQL 18, counted by valgrind.',
    `${TOGETHER} requests share a statement, except for the end of a local phase. The table has ${figure(KEYS)} keys.`,
    table(columns, rows),
    `A transaction with one row of work alone, which is parsed and planned: ${thousands(transaction.get('exec_simple_query'))}.`,
    'Without what parses the text here. Arrays are text here, because single-user mode has no parameters; real ones are in binary format and cost less.',
  ].join('\n\n');
  console.log(markdown);
  const file = await writeResults('instructions', { markdown: `# Instructions\n\n${markdown}` });
  console.log(`\nWritten to ${file}.`);
} finally {
  await rm(folder, { recursive: true, force: true });
}

/** The tables, and keys in them as requests leave them. */
async function prepare(/** @type {string} */ server) {
  const postgres = await startEmbeddedPostgres({ folder: server, durable: false });
  try {
    await migrate(postgres.url, idempotencyMigrations);
    const client = new pg.Client({ connectionString: postgres.url });
    await client.connect();
    for (const sql of [KEPT, WORK]) await client.query(sql);
    await client.query(
      `INSERT INTO idempotency_keys (scope, key, fingerprint, owner, locked_until, expires_at, method, route, path)
       SELECT '', gen_random_uuid(), sha256(n::text::bytea), $2, now(), now() + interval '1 day',
              'POST', '/payments', '/payments'
       FROM generate_series(1, $1::int) AS n`,
      [KEYS, OWNER],
    );
    await client.query(
      `INSERT INTO idempotency_phases (scope, key_id, name, position, kind, state, attempt, effect_key, in_doubt)
       SELECT scope, id, 'ordered', 1, 'foreign', 'intended', 1, gen_random_uuid(), 'stop'
       FROM idempotency_keys`,
    );
    await client.query(
      `INSERT INTO kept SELECT gen_random_uuid(), gen_random_uuid(), sha256(n::text::bytea), now(), 201, ''
       FROM generate_series(1, $1::int) AS n`,
      [KEYS],
    );
    await client.query('VACUUM ANALYZE');
    await client.end();
  } finally {
    await postgres.stop();
  }
}

/**
 * @typedef {[label: string, sql: string, parameters: (round: number) => (Value | Value[])[]]} Statement
 * @returns {Statement[]}
 */
function statements() {
  const all = (/** @type {(index: number) => Value} */ value) =>
    Array.from({ length: TOGETHER }, (_, index) => value(index));
  // Each round ends what is there already, so that no round depends on another.
  const idOf = (/** @type {number} */ round, /** @type {number} */ index) =>
    1 + round * TOGETHER + index;
  const reserved = () => ({
    scope: all(() => ''),
    key: all(() => randomUUID()),
    fingerprint: all(() => randomBytes(32)),
    owner: all(() => randomUUID()),
    endpoint: '',
    lease: 30_000,
    retention: 86_400_000,
    ...{ method: 'POST', route: '/payments', path: '/payments' },
  });
  const answered = (/** @type {number} */ round) => ({
    id: all((index) => idOf(round, index)),
    owner: all(() => OWNER),
    response_body: all(() => BODY),
    ...{ status: 'completed', response_status: 201, response_headers: HEADERS },
    ...{ response_version: 1, retention: 86_400_000 },
  });
  const intended = (/** @type {number} */ round) => ({
    id: all((index) => idOf(round, index)),
    owner: all(() => OWNER),
    ...{ lease: 30_000, max_run_time: 3_600_000, kind: 'foreign', attempt: 1 },
    name: all(() => 'charged'),
    position: all(() => 2),
    state: all(() => 'intended'),
    effect_key: all(() => randomUUID()),
    in_doubt: all(() => 'stop'),
    request: all(() => null),
    result: all(() => null),
  });
  const ended = (/** @type {number} */ round) => ({
    ...intended(round),
    name: all(() => 'ordered'),
    position: all(() => 1),
    state: all(() => 'finished'),
    effect_key: all(() => null),
    in_doubt: all(() => null),
    result: all(() => RESULT),
  });
  const endedAndIntended = (/** @type {number} */ round) => ({
    ...intended(round),
    ended: all(() => 'ordered'),
    ended_result: all(() => RESULT),
  });
  /** What the last statement began. */
  let begun = [all(() => randomUUID()), all(() => randomUUID())];
  const keys = 'idempotency_keys';
  const phases = 'idempotency_phases';
  const shared = ENTRIES.sharedAt(2);
  return [
    [
      'keys reserved and answers recorded',
      reserveAndFinishSql(keys, RESERVATIONS.sharedAt(2), OUTCOMES.sharedAt(2)),
      (round) => [...inOrder(RESERVATIONS, reserved()), ...inOrder(OUTCOMES, answered(round))],
    ],
    [
      'the row of the least, inserted and updated',
      WRITE,
      () => {
        const last = begun;
        begun = [all(() => randomUUID()), all(() => randomUUID())];
        return [...begun, all(() => randomBytes(32)), ...last, all(() => BODY)];
      },
    ],
    [
      'foreign phases intended',
      recordSql(keys, phases, 'many', { shared }),
      (round) => inOrder(ENTRIES, intended(round)),
    ],
    [
      'foreign phases ended',
      recordSql(keys, phases, 'many', { shared }),
      (round) => inOrder(ENTRIES, ended(round)),
    ],
    [
      'foreign phases ended, and the next ones intended',
      recordSql(keys, phases, 'many', { shared, after: true }),
      (round) => inOrder(ENTRIES_AFTER, endedAndIntended(round)),
    ],
    [
      'the end of a local phase',
      localEndSql(keys, phases),
      (round) => ['', 1 + round, OWNER, 30_000, 'charged', 1, 1, RESULT],
    ],
  ];
}

/**
 * @param {{ names: string[] }} columns of a batch
 * @param {Record<string, Value | Value[]>} values
 */
function inOrder({ names }, values) {
  return names.map((name) => values[name] ?? null);
}

/** @typedef {string | number | Buffer | null} Value */

/** @param {Value | Value[]} value */
function literal(value) {
  if (Array.isArray(value)) return `'{${value.map(element).join()}}'`;
  if (value === null) return 'NULL';
  return typeof value === 'number' ? String(value) : `'${value.toString()}'`;
}

/** @param {Value} value */
function element(value) {
  if (value === null) return 'NULL';
  if (Buffer.isBuffer(value)) return `"\\\\x${value.toString('hex')}"`;
  return `"${String(value).replaceAll('"', '\\"')}"`;
}

/** @param {import('./setup/counted-postgres.mjs').Instructions} counted */
function costs(counted) {
  const of = (/** @type {string} */ name) => counted.get(name) ?? 0;
  const whole = of('ExecuteQuery') - of('EvaluateParams') + of('array_in');
  const parts = PARTS.map(([, names]) => names.reduce((sum, name) => sum + of(name), 0));
  return [whole, ...parts].map(thousands);
}

/** @param {number | undefined} count */
function thousands(count) {
  return figure((count ?? NaN) / 1000);
}
