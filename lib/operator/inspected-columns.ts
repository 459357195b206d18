import type { ColumnCipher } from '../encryption/column-cipher.js';
import { KEY, PHASE } from '../encryption/columns.js';
import { shown } from '../encryption/shown.js';
import { openAnswer, type StoredAnswer } from '../keys/stored-answer.js';
import { withDates } from '../postgres/times.js';
import { fromJson } from '../schema/json.js';
import type { KeyName } from '../schema/key-name.js';
import type { KeyReport, PhaseReport } from './key-report.js';

/** The columns of key `k` with users' data, as they are stored. */
export const INSPECTED = `k.request::text AS request, k.response_status AS "responseStatus",
              k.response_headers AS "responseHeaders", k.response_body AS "responseBody",
              k.response_version AS "responseVersion"`;

export interface InspectedColumns extends StoredAnswer {
  /** JSON text. */
  request: string | null;
}

/** A phase as it is stored. */
export interface PhaseRow extends PhaseReport {
  request: string | null;
  result: string | null;
}

/** What a person is shown of these columns. What cannot be read says so, and hides nothing else. */
export function inspected<Row extends KeyName & InspectedColumns>(
  row: Row,
  cipher: ColumnCipher,
): Omit<Row, keyof InspectedColumns> & Pick<KeyReport, 'request' | 'answer'> {
  const { request, responseStatus, responseHeaders, responseBody, responseVersion, ...key } = row;
  const stored = { responseStatus, responseHeaders, responseBody, responseVersion };
  return {
    ...key,
    request: shown(() => fromJson(cipher.openJson(request, KEY.request, row)) ?? null),
    answer: responseStatus === null ? null : shownAnswer(responseStatus, row, stored, cipher),
  };
}

function shownAnswer(
  status: number,
  name: KeyName,
  stored: StoredAnswer,
  cipher: ColumnCipher,
): NonNullable<KeyReport['answer']> {
  const answer = shown(() => openAnswer(cipher, name, stored));
  if (typeof answer === 'string') return { status, headers: {}, bytes: 0, unreadable: answer };
  const { responseHeaders, responseBody } = stored;
  return {
    status,
    headers: answer?.headers ?? responseHeaders ?? {},
    bytes: (answer?.body ?? responseBody)?.length ?? 0,
  };
}

export function inspectedPhase(keyId: string, phase: PhaseRow, cipher: ColumnCipher): PhaseReport {
  const row = { keyId, name: phase.name };
  return {
    ...withDates(phase, 'keyValidUntil', 'startedAt', 'finishedAt'),
    request: shown(() => fromJson(cipher.openJson(phase.request, PHASE.request, row)) ?? null),
    result: shown(() => fromJson(cipher.openJson(phase.result, PHASE.result, row)) ?? null),
  };
}
