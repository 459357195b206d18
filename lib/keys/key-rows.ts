// Converts between the store's types and the columns of its statements.
import { RESPONSE_VERSION } from './key-statements.js';
import type { KeyOutcome, FoundKey, Reservation } from './key-store.js';
import { nameColumns, type KeyName } from '../schema/key-name.js';
import { withDates } from '../postgres/times.js';

/** In the order of RESERVATION in key-statements.ts. */
export function reserveParameters(wanted: readonly Reservation[]): unknown[][] {
  return [
    ...nameColumns(wanted),
    wanted.map((w) => w.fingerprint),
    wanted.map((w) => w.owner),
    wanted.map((w) => w.lease),
    wanted.map((w) => w.retention),
    wanted.map((w) => (w.onAbandoned === 'resume' ? w.onAbandoned : null)),
    wanted.map((w) => (w.onExpired === 'gone' ? w.onExpired : null)),
    wanted.map((w) => w.asked.method),
    wanted.map((w) => w.asked.route),
    wanted.map((w) => w.asked.path),
    wanted.map((w) => w.asked.kept ?? null),
    wanted.map((w) => w.observed.span?.traceparent ?? null),
  ];
}

/** In the order of DATED_RESERVATION there. */
export function datedReserveParameters(wanted: readonly Reservation[]): unknown[][] {
  return [...reserveParameters(wanted), wanted.map((w) => w.madeAt ?? null)];
}

/** In the order of OUTCOME there. */
export function finishParameters(outcomes: readonly KeyOutcome[]): unknown[][] {
  return [
    ...nameColumns(outcomes),
    outcomes.map((e) => e.owner),
    outcomes.map((e) => e.status),
    outcomes.map((e) => e.responseStatus),
    outcomes.map((e) => e.responseHeaders && JSON.stringify(e.responseHeaders)),
    outcomes.map((e) => e.responseBody),
    outcomes.map((e) => e.errorCode),
    outcomes.map((e) => e.retention),
    outcomes.map((e) => e.resumeIn),
  ];
}

/** What a look-up returns. All but `stale` is null if there is no such key among many. */
export interface FoundRow extends Omit<FoundKey, 'answer' | 'pastRetention' | keyof KeyName> {
  stale?: boolean;
  responseVersion: number | null;
  responseHeaders: Record<string, string | string[]> | null;
  responseBody: Buffer | null;
}

export function foundKey({ scope, endpoint, key }: KeyName, row: FoundRow): FoundKey {
  const { responseVersion, responseStatus, responseHeaders, responseBody } = row;
  const readable =
    responseVersion === RESPONSE_VERSION && responseStatus !== null && responseBody !== null;
  return {
    ...withDates(row, 'expiresAt'),
    scope,
    endpoint,
    key,
    pastRetention: row.expiresIn !== null && row.expiresIn <= 0,
    answer: readable
      ? { status: responseStatus, headers: responseHeaders ?? {}, body: responseBody }
      : undefined,
  };
}
