// Who takes part. What each of them does is in contenders/.

/** @typedef {'express' | 'fastify'} Platform */

/**
 * @typedef {object} Contender
 * @property {string} file in contenders/
 * @property {import('./setup/places.mjs').Place} place whose packages it uses
 * @property {'postgres' | import('./setup/redis.mjs').RedisMode} [needs]
 * @property {boolean} [encrypted] with the option `encryption`
 * @property {'rate' | 'counts'} [limits] which limits hold: those without a statement, or all of them
 * @property {'metrics' | 'traces'} [telemetry] what OpenTelemetry gets; with traces, metrics as well
 */

/** @satisfies {Record<string, Contender>} */
export const contenders = /** @type {const} */ ({
  bare: { file: 'bare', place: 'root' },
  bareNest10: { file: 'bare', place: 'nodeIdempotency' },
  ours: { file: 'ours', place: 'root', needs: 'postgres' },
  before: { file: 'ours', place: 'before', needs: 'postgres' },
  eventless: { file: 'ours', place: 'eventless', needs: 'postgres' },
  metered: { file: 'ours', place: 'root', needs: 'postgres', telemetry: 'metrics' },
  traced: { file: 'ours', place: 'root', needs: 'postgres', telemetry: 'traces' },
  encrypted: { file: 'ours', place: 'root', needs: 'postgres', encrypted: true },
  limited: { file: 'ours', place: 'root', needs: 'postgres', limits: 'rate' },
  counted: { file: 'ours', place: 'root', needs: 'postgres', limits: 'counts' },
  remembered: { file: 'remembered', place: 'root' },
  trips: { file: 'trips', place: 'root', needs: 'postgres' },
  rows: { file: 'rows', place: 'root', needs: 'postgres' },
  statements: { file: 'statements', place: 'root', needs: 'postgres' },
  transactions: { file: 'transactions', place: 'root', needs: 'postgres' },
  handWritten: { file: 'hand-written', place: 'root', needs: 'postgres' },
  redisPeer: { file: 'node-idempotency', place: 'nodeIdempotency', needs: 'redis' },
  durableRedisPeer: { file: 'node-idempotency', place: 'nodeIdempotency', needs: 'durableRedis' },
  memoryPeer: { file: 'node-idempotency', place: 'nodeIdempotency' },
  dbos: { file: 'dbos', place: 'bench', needs: 'postgres' },
});

/** @typedef {keyof typeof contenders} ContenderName */
