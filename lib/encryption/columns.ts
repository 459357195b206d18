import type { KeyName } from '../schema/key-name.js';

/**
 * A column with users' data. A sealed value is bound to it and to its row: copied
 * to another column, row or scope, it does not open.
 */
export interface SealedColumn<Row> {
  /** Of the entity, whatever a prefix or a schema makes of it. */
  readonly table: string;
  readonly column: string;
  /** What identifies a row inside its scope. */
  identify(row: Row): readonly string[];
}

type OfKey = Pick<KeyName, 'endpoint' | 'key'>;

/** The row's own id does not exist yet when a reservation is sealed. */
function ofKeys(column: string): SealedColumn<OfKey> {
  const identify = ({ endpoint, key }: OfKey) => [endpoint, key];
  return { table: 'idempotency_keys', column, identify };
}

export interface OfPhase {
  /** The id of its key. */
  keyId: string;
  name: string;
}

function ofPhases(column: string): SealedColumn<OfPhase> {
  const identify = ({ keyId, name }: OfPhase) => [keyId, name];
  return { table: 'idempotency_phases', column, identify };
}

function ofMessages(column: string): SealedColumn<{ id: string }> {
  return { table: 'idempotency_outbox', column, identify: ({ id }) => [id] };
}

export interface OfAudit {
  keyId: string | null;
  messageId: string | null;
  action: string;
}

/** The entry's own id is made by the database, after it was sealed. */
function ofAudit(column: string): SealedColumn<OfAudit> {
  const identify = ({ keyId, messageId, action }: OfAudit) => [
    keyId ?? '',
    messageId ?? '',
    action,
  ];
  return { table: 'idempotency_audit', column, identify };
}

/** Every column with users' data. The fingerprint is keyed instead of sealed. */
export const KEY = {
  answer: ofKeys('response_body'),
  request: ofKeys('request'),
  path: ofKeys('path'),
  input: ofKeys('input'),
};
export const PHASE = { request: ofPhases('request'), result: ofPhases('result') };
export const MESSAGE = { payload: ofMessages('payload'), lastError: ofMessages('last_error') };
export const AUDIT = { why: ofAudit('why'), before: ofAudit('before'), after: ofAudit('after') };

/** Each part is preceded by its length, so no two different lists have the same encoding. */
export function boundTo<Row>(scope: string, column: SealedColumn<Row>, row: Row): Buffer {
  let text = '';
  for (const part of [column.table, column.column, scope, ...column.identify(row)]) {
    text += `${Buffer.byteLength(part)}:${part}`;
  }
  return Buffer.from(text);
}

export function whereOf({ table, column }: SealedColumn<never>): string {
  return `${table}.${column}`;
}
