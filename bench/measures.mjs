// What is measured: which requests, to whom, over how many connections.

/**
 * @typedef {object} Kind
 * @property {string} id
 * @property {string} label
 * @property {import('./contenders.mjs').ContenderName} contender
 * @property {string} path
 * @property {number} connections
 * @property {boolean} [replay]
 * @property {number} [steps] durable steps per request, where steps are what is counted
 * @property {boolean} [far] the store is a millisecond away
 * @property {boolean} [timesTrips] the server also times single statements, to compare with
 *
 * @typedef {Kind & { platform: import('./contenders.mjs').Platform }} Measure
 */

/** @typedef {'full' | 'quick' | 'network'} Run */

/** As many clients as keep a server of one process busy. */
const busy = { path: '/payments', connections: 32 };
const replay = { ...busy, replay: true };
const crowded = { path: '/payments', connections: 128 };
const steps = { connections: 16, steps: 5 };

const peer = '@node-idempotency';

/** @type {Kind[]} */
const compared = [
  { id: 'bare', label: 'bare Nest route', contender: 'bare', ...busy },
  { id: 'ours.fresh', label: 'ours, fresh', contender: 'ours', ...busy },
  { id: 'redis.fresh', label: `${peer} with Redis, fresh`, contender: 'redisPeer', ...busy },
  {
    id: 'durableRedis.fresh',
    label: `${peer} with Redis, appendfsync always, fresh`,
    contender: 'durableRedisPeer',
    ...busy,
  },
  { id: 'handWritten', label: 'hand-written, fresh', contender: 'handWritten', ...busy },
  {
    id: 'trips',
    label: 'an interceptor that goes to PostgreSQL twice and keeps nothing',
    contender: 'trips',
    ...busy,
  },
  {
    id: 'rows',
    label: 'an interceptor that inserts and updates a row and looks at none',
    contender: 'rows',
    ...busy,
  },
  {
    id: 'statements',
    label: "an interceptor that sends the library's statements and looks at no row",
    contender: 'statements',
    ...busy,
  },
  {
    id: 'intercepted',
    label: 'bare Nest route, an interceptor that does nothing',
    contender: 'bare',
    ...busy,
    path: '/intercepted',
  },
  { id: 'ours.replay', label: 'ours, replay', contender: 'ours', ...replay },
  { id: 'redis.replay', label: `${peer} with Redis, replay`, contender: 'redisPeer', ...replay },
];

/** @type {Kind[]} */
const shown = [
  { id: 'ours.local', label: 'ours, local phase', contender: 'ours', ...busy, path: '/local' },
  {
    id: 'ours.localForeign',
    label: 'ours, local + foreign phase',
    contender: 'ours',
    ...busy,
    path: '/local-and-foreign',
  },
  { id: 'memory.fresh', label: `${peer} in memory, fresh`, contender: 'memoryPeer', ...busy },
  { id: 'memory.replay', label: `${peer} in memory, replay`, contender: 'memoryPeer', ...replay },
  { id: 'bare.nest10', label: 'bare route of its Nest 10', contender: 'bareNest10', ...busy },
];

/** @type {Kind[]} */
const crowds = [
  { id: 'bare.crowded', label: 'bare Nest route', contender: 'bare' },
  { id: 'ours.crowded', label: 'ours, fresh', contender: 'ours' },
  {
    id: 'rows.crowded',
    label: 'an interceptor that inserts and updates a row and looks at none',
    contender: 'rows',
  },
  {
    id: 'statements.crowded',
    label: "an interceptor that sends the library's statements and looks at no row",
    contender: 'statements',
  },
  { id: 'redis.crowded', label: `${peer} with Redis, fresh`, contender: 'redisPeer' },
].map(
  (kind) => /** @type {Kind} */ ({ ...kind, ...crowded, label: `${kind.label}, 128 connections` }),
);

/** @type {Kind[]} */
const phases = [
  { id: 'ours.locals', label: 'ours, local phases', contender: 'ours', path: '/steps/local' },
  { id: 'dbos.locals', label: 'DBOS, transactions', contender: 'dbos', path: '/steps/local' },
  {
    id: 'rows.locals',
    label: 'rows that nobody looks at, transactions',
    contender: 'rows',
    path: '/steps/local',
  },
  {
    id: 'statements.locals',
    label: "the library's statements, transactions that nobody looks at",
    contender: 'statements',
    path: '/steps/local',
  },
  {
    id: 'statements.typeorm',
    label: "the library's statements through TypeORM, transactions that nobody looks at",
    contender: 'statements',
    path: '/steps/local/typeorm',
  },
  {
    id: 'statements.transactions',
    label: "the library's transactions through TypeORM, without its phases",
    contender: 'statements',
    path: '/steps/local/transactions',
  },
  {
    id: 'transactions',
    label: 'transactions of TypeORM with the same work alone',
    contender: 'transactions',
    path: '/steps/local',
  },
  { id: 'ours.foreigns', label: 'ours, foreign phases', contender: 'ours', path: '/steps/foreign' },
  { id: 'dbos.foreigns', label: 'DBOS, steps', contender: 'dbos', path: '/steps/foreign' },
  {
    id: 'rows.foreigns',
    label: 'rows that nobody looks at, foreign steps',
    contender: 'rows',
    path: '/steps/foreign',
  },
  {
    id: 'statements.foreigns',
    label: "the library's statements, foreign steps that nobody looks at",
    contender: 'statements',
    path: '/steps/foreign',
  },
].map((kind) => /** @type {Kind} */ ({ ...kind, ...steps }));

const bareAlone = onOneConnection({ id: 'bare', label: 'bare Nest route', contender: 'bare' });

const oursAlone = [
  onOneConnection({ id: 'ours', label: 'ours, fresh', contender: 'ours', timesTrips: true }),
  onOneConnection({
    id: 'ours.phased',
    label: 'ours, fresh on a phased route',
    contender: 'ours',
    path: '/phased',
  }),
  onOneConnection({
    id: 'ours.local',
    label: 'ours, local phase',
    contender: 'ours',
    path: '/local',
  }),
  onOneConnection({
    id: 'ours.foreign',
    label: 'ours, foreign phase',
    contender: 'ours',
    path: '/foreign',
  }),
];

const redisAlone = onOneConnection({
  id: 'redis',
  label: `${peer} with Redis, fresh`,
  contender: 'redisPeer',
});

const othersAlone = [
  redisAlone,
  onOneConnection({ id: 'handWritten', label: 'hand-written, fresh', contender: 'handWritten' }),
  onOneConnection({ id: 'dbos', label: 'DBOS, no step', contender: 'dbos' }),
  onOneConnection({
    id: 'dbos.locals',
    label: 'DBOS, five transactions',
    contender: 'dbos',
    path: '/steps/local',
  }),
  onOneConnection({
    id: 'dbos.foreigns',
    label: 'DBOS, five steps',
    contender: 'dbos',
    path: '/steps/foreign',
  }),
];

/** @type {Kind[]} */
const farAway = [
  ...oursAlone,
  redisAlone,
  ...compared.filter(({ id }) => id === 'ours.fresh' || id === 'redis.fresh'),
  ...shown.filter(({ id }) => id === 'ours.local'),
  {
    id: 'ours.foreign',
    label: 'ours, foreign phase',
    contender: /** @type {const} */ ('ours'),
    ...busy,
    path: '/foreign',
  },
].map((kind) => ({ ...kind, id: `far.${kind.id}`, far: true }));

/** @type {Kind[]} */
const replayYardsticks = [
  {
    id: 'remembered.replay',
    label: 'an interceptor that answers from memory and looks at the key alone, replay',
    contender: 'remembered',
    ...replay,
  },
];

/** @type {Kind[]} */
const farYardsticks = [
  onOneConnection({
    id: 'statements',
    label: "the library's statements, and nobody looks at a row",
    contender: 'statements',
  }),
  onOneConnection({
    id: 'statements.transactions',
    label: "five of the library's transactions through TypeORM, without its phases",
    contender: 'statements',
    path: '/steps/local/transactions',
  }),
].map((kind) => ({ ...kind, id: `far.${kind.id}`, far: true }));

/** What a change of the library may cost. */
const kept = [...compared, ...phases, ...oursAlone].filter(isOurs);
/** What it may cost besides, for those who ask. */
const keptToo = [...crowds, ...shown, ...farAway].filter(isOurs);

/** @param {Kind} kind */
function isOurs({ contender }) {
  return contender === 'ours';
}

/**
 * @param {string[]} [only] such as `fresh` or `far.fresh`; without it, what a change may cost first of all
 * @returns {Kind[]}
 */
export function keptOf(only) {
  if (!only) return kept;
  const shortName = (/** @type {Kind} */ { id }) => id.replace('ours.', '');
  const all = [...kept, ...keptToo];
  const wanted = all.filter((kind) => only.includes(shortName(kind)));
  if (wanted.length === 0) {
    throw new Error(`--only takes ${all.map(shortName).join(', ')}, separated by commas.`);
  }
  return wanted;
}

/**
 * In blocks of what is compared with one another, each in the order of a round. Express gets what is
 * compared; the rest is about the library and the database, not about HTTP, and is measured on one
 * platform.
 *
 * @param {Run} run
 * @returns {Measure[][]}
 */
export function blocksOf(run) {
  if (run === 'network') return [on('fastify', [bareAlone, ...farAway])];
  const targeted = [compared, phases, [bareAlone, ...oursAlone]];
  if (run === 'quick') return targeted.map((kinds) => on('fastify', kinds));
  const alone = [bareAlone, ...oursAlone, ...othersAlone, ...farAway];
  return [
    ...[compared, phases, alone, crowds, shown].map((kinds) => on('fastify', kinds)),
    on('express', compared),
  ];
}

/**
 * @param {ReadonlySet<string>} ids
 * @returns {Measure[]} on Fastify
 */
export function measuresOf(ids) {
  const yardsticks = [...replayYardsticks, ...farYardsticks];
  const all = [...compared, ...crowds, ...phases, bareAlone, ...farAway, ...yardsticks];
  return on(
    'fastify',
    all.filter(({ id }) => ids.has(id)),
  );
}

/**
 * Nothing is shared then, and every round trip is waited for.
 *
 * @param {Omit<Kind, 'path' | 'connections'> & { path?: string }} kind
 * @returns {Kind}
 */
function onOneConnection({ id, label, ...rest }) {
  return {
    id: `${id}.alone`,
    label: `${label}, one connection`,
    path: '/payments',
    connections: 1,
    ...rest,
  };
}

/**
 * @param {import('./contenders.mjs').Platform} platform
 * @param {Kind[]} kinds
 * @returns {Measure[]}
 */
function on(platform, kinds) {
  return kinds.map((kind) => ({ ...kind, platform }));
}

/** @param {Pick<Measure, 'id' | 'platform'>} measure */
export function nameOf({ id, platform }) {
  return `${platform}.${id}`;
}
