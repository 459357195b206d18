import type { ColumnCipher } from '../encryption/column-cipher.js';
import { AUDIT, KEY, MESSAGE, PHASE } from '../encryption/columns.js';
import { PLAIN_FINGERPRINT } from '../encryption/data-key.js';
import { openAnswer, storedAnswer } from '../keys/stored-answer.js';
import type {
  AuditColumns,
  KeyColumns,
  MessageColumns,
  PhaseColumns,
} from './reencryption-store.js';

/** Rows with what was plain in them sealed, and what was sealed sealed again. */

export function sealedKey(row: KeyColumns, cipher: ColumnCipher): KeyColumns {
  const { fingerprint, path, request, input } = row;
  const answer = openAnswer(cipher, row, row);
  return {
    ...row,
    fingerprint:
      fingerprint.length === PLAIN_FINGERPRINT ? cipher.fingerprint(fingerprint) : fingerprint,
    path: cipher.text(cipher.openText(path, KEY.path, row), KEY.path, row),
    request: cipher.json(cipher.openJson(request, KEY.request, row), KEY.request, row),
    input: cipher.json(cipher.openJson(input, KEY.input, row), KEY.input, row),
    ...(answer && storedAnswer(cipher, row, answer)),
  };
}

export function sealedPhase(row: PhaseColumns, cipher: ColumnCipher): PhaseColumns {
  const { request, result } = row;
  return {
    ...row,
    request: cipher.json(cipher.openJson(request, PHASE.request, row), PHASE.request, row),
    result: cipher.json(cipher.openJson(result, PHASE.result, row), PHASE.result, row),
  };
}

export function sealedMessage(row: MessageColumns, cipher: ColumnCipher): MessageColumns {
  const { payload, lastError } = row;
  return {
    ...row,
    payload: cipher.json(cipher.openJson(payload, MESSAGE.payload, row), MESSAGE.payload, row),
    lastError: cipher.text(
      cipher.openText(lastError, MESSAGE.lastError, row),
      MESSAGE.lastError,
      row,
    ),
  };
}

export function sealedEntry(row: AuditColumns, cipher: ColumnCipher): AuditColumns {
  const { why, before, after } = row;
  return {
    ...row,
    why: cipher.text(cipher.openText(why, AUDIT.why, row), AUDIT.why, row),
    before: cipher.json(cipher.openJson(before, AUDIT.before, row), AUDIT.before, row),
    after: cipher.json(cipher.openJson(after, AUDIT.after, row), AUDIT.after, row),
  };
}
