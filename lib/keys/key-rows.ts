// Converts between the store's types and the columns of its statements.
import type { ColumnCipher } from '../encryption/column-cipher.js';
import { KEY } from '../encryption/columns.js';
import { UnreadableRecordError } from '../encryption/unreadable-record.error.js';
import type { KeyOutcome } from './key-outcome.js';
import type { FoundKey } from './found-key.js';
import type { Reservation } from './reservation.js';
import { openAnswer, type StoredAnswer } from './stored-answer.js';
import { nameColumns, type KeyName } from '../schema/key-name.js';
import { withDates } from '../postgres/times.js';

/** In the order of RESERVATION in key-statements.ts, but for the last one. */
export function reserveParameters(wanted: readonly Reservation[]): unknown[][] {
  return [
    ...nameColumns(wanted),
    wanted.map((w) => w.cipher.fingerprint(w.fingerprint)),
    wanted.map((w) => w.owner),
    wanted.map((w) => w.lease),
    wanted.map((w) => w.retention),
    wanted.map((w) => (w.onAbandoned === 'resume' ? w.onAbandoned : null)),
    wanted.map((w) => (w.onExpired === 'gone' ? w.onExpired : null)),
    wanted.map((w) => w.asked.method),
    wanted.map((w) => w.asked.route),
    wanted.map((w) => w.cipher.text(w.asked.path, KEY.path, w)),
    wanted.map((w) => w.cipher.json(w.asked.kept, KEY.request, w)),
    wanted.map((w) => w.observed.span?.traceparent ?? null),
  ];
}

/** With the last one. */
export function datedReserveParameters(wanted: readonly Reservation[]): unknown[][] {
  return [...reserveParameters(wanted), wanted.map((w) => w.madeAt ?? null)];
}

/** In the order of OUTCOME there. */
export function finishParameters(outcomes: readonly KeyOutcome[]): unknown[][] {
  const columns: unknown[][] = [
    outcomes.map((e) => e.id),
    outcomes.map((e) => e.owner),
    outcomes.map((e) => e.status),
    outcomes.map((e) => e.responseStatus),
    outcomes.map((e) => e.responseHeaders && JSON.stringify(e.responseHeaders)),
    outcomes.map((e) => e.responseBody),
    outcomes.map((e) => e.responseVersion),
    outcomes.map((e) => e.errorCode),
    outcomes.map((e) => e.retention),
    outcomes.map((e) => e.resumeIn),
  ];
  if (outcomes.some((e) => e.lastPhase)) {
    columns.push(
      outcomes.map((e) => e.lastPhase?.name ?? null),
      outcomes.map((e) => e.lastPhase?.result ?? null),
    );
  }
  return columns;
}

/** What a look-up returns. All but `stale` is null if there is no such key among many. */
export interface FoundRow
  extends Omit<FoundKey, 'answer' | 'fault' | 'pastRetention' | keyof KeyName>, StoredAnswer {
  stale?: boolean;
}

/**
 * Member by member: an object that a row is spread into has a hidden class of its
 * own each time, and then V8 cannot remember where a member is.
 */
export function foundKey(
  { scope, endpoint, key, cipher }: KeyName & { cipher: ColumnCipher },
  row: FoundRow,
): FoundKey {
  const { answer, fault } = answerIn(row, { scope, endpoint, key }, cipher);
  return {
    scope,
    endpoint,
    key,
    id: row.id,
    fingerprint: row.fingerprint,
    status: row.status,
    recoveryPoint: row.recoveryPoint,
    owner: row.owner,
    attempt: row.attempt,
    lockedUntil: row.lockedUntil,
    lapsed: row.lapsed,
    pastRetention: row.expiresIn !== null && row.expiresIn <= 0,
    expiresIn: row.expiresIn,
    expiresAt: withDates(row, 'expiresAt').expiresAt,
    runningFor: row.runningFor,
    reconcileIn: row.reconcileIn,
    resumeIn: row.resumeIn,
    resumeAttempts: row.resumeAttempts,
    operation: row.operation,
    traceparent: row.traceparent,
    responseStatus: row.responseStatus,
    answer,
    fault,
  };
}

/** An answer that cannot be read is the fault of its own key; others were read by the same statement. */
function answerIn(
  row: FoundRow,
  name: KeyName,
  cipher: ColumnCipher,
): Pick<FoundKey, 'answer' | 'fault'> {
  try {
    return { answer: openAnswer(cipher, name, row), fault: undefined };
  } catch (error) {
    if (!(error instanceof UnreadableRecordError)) throw error;
    return { answer: undefined, fault: error };
  }
}
