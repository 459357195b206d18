import { describe, expect, it } from '@jest/globals';
import type { KeyOutcome } from '../../lib/keys/key-outcome.js';
import type { Reservation } from '../../lib/keys/reservation.js';
import { outcomeOf, reservationOf } from '../support/key-store.js';
import { useKeyStore } from '../support/use-key-store.js';

const { database, keys } = useKeyStore();

/** What a batch consists of: how its rows differ from the usual one. */
type Batch = { reservation?: Partial<Reservation>; outcome?: Partial<KeyOutcome> }[];

const HOUR = 3_600_000;
const asked = { method: 'PUT', route: '/orders/:id', path: '/orders/7' };

// A column in which all rows of a batch are alike is sent once for all of them.
const batches: [what: string, batch: Batch][] = [
  ['are alike', [{}, {}, {}]],
  ['belong to different routes', [{}, { reservation: { asked } }, {}]],
  [
    'have different policies',
    [{ reservation: { onAbandoned: 'resume' } }, { reservation: { onExpired: 'gone' } }, {}],
  ],
  ['are kept for different times', [{ reservation: { retention: HOUR } }, {}, {}]],
  ['are kept for ever', [{ reservation: { retention: null } }, {}]],
  ['ended with different answers', [{ outcome: { responseStatus: 404 } }, {}, {}]],
  [
    'ended with different headers',
    [{ outcome: { responseHeaders: { location: '/orders/7' } } }, {}],
  ],
  [
    'ended differently',
    [{ outcome: { status: 'failed_retryable', errorCode: 'http_503' } }, {}, {}],
  ],
  [
    'differ in everything',
    [
      {
        reservation: { asked, lease: 5_000, retention: HOUR, onAbandoned: 'resume' },
        outcome: { status: 'unknown', errorCode: 'in_doubt', responseVersion: null },
      },
      { outcome: { responseStatus: 500 } },
    ],
  ],
];

describe('Rows of one statement', () => {
  it.each(batches)('are reserved as each was asked for: rows that %s', async (what, batch) => {
    const wanted = batch.map(({ reservation }, index) =>
      reservationOf(`reserved: ${what} ${index}`, reservation),
    );
    await keys.store.reserve(wanted);
    expect(await stored(wanted)).toEqual(wanted.map(reservedRow));
  });

  it.each(batches)('are recorded as each has ended: rows that %s', async (what, batch) => {
    const wanted = batch.map(({ reservation }, index) =>
      reservationOf(`recorded: ${what} ${index}`, reservation),
    );
    const results = await keys.store.reserve(wanted);
    const outcomes = wanted.map((each, index) =>
      outcomeOf(each, results[index], batch[index]!.outcome),
    );
    // With new keys in the same statement.
    const others = batch.map(({ reservation }, index) =>
      reservationOf(`beside: ${what} ${index}`, reservation),
    );
    const { reserved, recorded } = await keys.store.reserveAndFinish(others, outcomes);

    expect(reserved.map(({ kind }) => kind)).toEqual(others.map(() => 'reserved'));
    expect(recorded).toHaveProperty('size', outcomes.length);
    expect(await stored(others)).toEqual(others.map(reservedRow));
    expect(await stored(wanted)).toEqual(
      wanted.map((each, index) => ({ ...reservedRow(each), ...endedRow(outcomes[index]!) })),
    );
  });
});

async function stored(names: readonly Reservation[]) {
  const rows = await database.query(
    `SELECT key, method, route, path, on_abandoned, on_expired, status, response_status,
            response_headers, response_version, last_error_code,
            round(extract(epoch FROM locked_until - created_at) * 1000)::int AS lease,
            round(extract(epoch FROM expires_at - created_at) * 1000)::int AS retention
     FROM idempotency_keys WHERE key = ANY($1)`,
    [names.map(({ key }) => key)],
  );
  return names.map(({ key }) => rows.find((row) => row.key === key));
}

function reservedRow({ key, asked: { method, route, path }, ...policy }: Reservation) {
  const { lease, retention, onAbandoned, onExpired } = policy;
  return {
    key,
    method,
    route,
    path,
    lease,
    retention,
    on_abandoned: onAbandoned === 'resume' ? onAbandoned : null,
    on_expired: onExpired === 'gone' ? onExpired : null,
    status: 'in_progress',
    response_status: null,
    response_headers: null,
    response_version: null,
    last_error_code: null,
  };
}

function endedRow(outcome: KeyOutcome) {
  return {
    status: outcome.status,
    response_status: outcome.responseStatus,
    response_headers: outcome.responseHeaders,
    response_version: outcome.responseVersion,
    last_error_code: outcome.errorCode,
    // An end whose retention is another one than the reservation's begins it anew.
    retention: expect.any(Number) as unknown,
  };
}
