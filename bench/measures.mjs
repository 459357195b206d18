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
 *
 * @typedef {Kind & { platform: import('./contenders.mjs').Platform }} Measure
 */

/** As many clients as keep a server of one process busy. */
const busy = { path: '/payments', connections: 32 };
const replay = { ...busy, replay: true };
const steps = { connections: 16, steps: 5 };
const alone = { path: '/payments', connections: 1 };

const peer = '@node-idempotency';

/** @type {Kind[]} */
const compared = [
  { id: 'bare', label: 'bare Nest route', contender: 'bare', ...busy },
  { id: 'ours.fresh', label: 'ours, fresh', contender: 'ours', ...busy },
  { id: 'redis.fresh', label: `${peer} with Redis, fresh`, contender: 'redisPeer', ...busy },
  { id: 'handWritten', label: 'hand-written, fresh', contender: 'handWritten', ...busy },
  { id: 'ours.replay', label: 'ours, replay', contender: 'ours', ...replay },
  { id: 'redis.replay', label: `${peer} with Redis, replay`, contender: 'redisPeer', ...replay },
];

/** @type {Kind[]} */
const shown = [
  {
    id: 'intercepted',
    label: 'bare Nest route, an interceptor that does nothing',
    contender: 'bare',
    ...busy,
    path: '/intercepted',
  },
  {
    id: 'trips',
    label: 'an interceptor that goes to PostgreSQL twice and keeps nothing',
    contender: 'trips',
    ...busy,
  },
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
const phases = [
  { id: 'ours.locals', label: 'ours, local phases', contender: 'ours', path: '/steps/local' },
  { id: 'dbos.locals', label: 'DBOS, transactions', contender: 'dbos', path: '/steps/local' },
  { id: 'ours.foreigns', label: 'ours, foreign phases', contender: 'ours', path: '/steps/foreign' },
  { id: 'dbos.foreigns', label: 'DBOS, steps', contender: 'dbos', path: '/steps/foreign' },
].map((kind) => /** @type {Kind} */ ({ ...kind, ...steps }));

/** @type {Kind[]} */
const single = [
  { id: 'bare.alone', label: 'bare Nest route, one connection', contender: 'bare', ...alone },
  { id: 'ours.alone', label: 'ours, fresh, one connection', contender: 'ours', ...alone },
];

/** What a change of the library may cost. */
const kept = [
  ...compared.filter(({ contender }) => contender === 'ours'),
  ...phases.filter(({ contender }) => contender === 'ours'),
  ...single.filter(({ contender }) => contender === 'ours'),
];

/**
 * @param {string[]} [only] such as `fresh`; all of them without it
 * @returns {Kind[]}
 */
export function keptOf(only) {
  const shortName = (/** @type {Kind} */ { id }) => id.replace('ours.', '');
  const wanted = kept.filter((kind) => !only || only.includes(shortName(kind)));
  if (wanted.length === 0) {
    throw new Error(`--only takes ${kept.map(shortName).join(', ')}, separated by commas.`);
  }
  return wanted;
}

/**
 * In the order of a round. Steps and the single connection are about the library
 * and the database, not about HTTP: they are measured on one platform.
 *
 * @param {{ quick: boolean }} options
 * @returns {Measure[]}
 */
export function measuresOf({ quick }) {
  const onFastify = quick ? compared : [...compared, ...shown];
  const onExpress = quick ? [] : [...compared, ...shown];
  return [...on('fastify', [...onFastify, ...phases, ...single]), ...on('express', onExpress)];
}

/**
 * @param {import('./contenders.mjs').Platform} platform
 * @param {Kind[]} kinds
 * @returns {Measure[]}
 */
function on(platform, kinds) {
  return kinds.map((kind) => ({ ...kind, platform }));
}

/** @param {Measure} measure */
export function nameOf({ id, platform }) {
  return `${platform}.${id}`;
}
