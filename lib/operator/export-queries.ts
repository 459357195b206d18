import { Injectable } from '@nestjs/common';
import { ColumnCiphers } from '../encryption/column-cipher.js';
import { Database } from '../postgres/database.js';
import type { TableColumn } from '../postgres/tables.js';
import { milliseconds } from '../postgres/times.js';
import { openRows } from './open-row.js';

/** What an export consists of: the type of its lines, the table, and the order of its rows. */
export const SECTIONS = [
  { type: 'key', table: 'idempotency_keys', order: ['key', 'endpoint'] },
  { type: 'phase', table: 'idempotency_phases', order: ['key_id', 'name'] },
  { type: 'message', table: 'idempotency_outbox', order: ['id'] },
  { type: 'audit', table: 'idempotency_audit', order: ['id'] },
] as const;

export type Section = (typeof SECTIONS)[number];

/** A row by the properties of its entity: bytes as a Buffer, JSON parsed, a bigint as text. */
export type ExportedRow = Record<string, unknown>;

/** The limits of one page, so that an export of any size fits into memory. */
const MOST_ROWS = 200;
const MOST_BYTES = 4 * 1024 * 1024;

/** Reads all rows of a scope, page by page, along the primary keys. */
@Injectable()
export class ExportQueries {
  constructor(
    private readonly database: Database,
    private readonly ciphers: ColumnCiphers,
  ) {}

  /** Yields pages of at least one row. Every value of an export is read here. */
  async *pages(section: Section, scope: string): AsyncGenerator<ExportedRow[]> {
    const columns = this.database.columns(section.table);
    let after: unknown[] | undefined;
    for (;;) {
      const rows = await this.database
        .for({ scope })
        .query<ExportedRow>(this.statement(section, columns, after !== undefined), [
          scope,
          ...(after ?? []),
        ]);
      const last = rows.at(-1);
      if (!last) return;
      after = section.order.map((name) => last[propertyOf(columns, name)]);
      const opened = await openRows(this.ciphers, section.table, scope, rows);
      yield opened.map((row) => parsed(row, columns));
    }
  }

  /** A large row is a page of its own. */
  private statement(
    { table, order }: Section,
    columns: readonly TableColumn[],
    further: boolean,
  ): string {
    const by = order.map((name) => `"${name}"`).join(', ');
    const behind = order.map((_, index) => `$${index + 2}`).join(', ');
    const size = columns
      .filter(({ type }) => isLarge(type))
      .map(
        ({ name, type }) =>
          `coalesce(octet_length("${name}"${type === 'bytea' ? '' : '::text'}), 0)`,
      )
      .join(' + ');
    return `SELECT ${columns.map(selected).join(', ')}
      FROM (
        SELECT *, row_number() OVER (ORDER BY ${by}) AS nth, sum(${size}) OVER (ORDER BY ${by}) AS bytes
        FROM (
          SELECT * FROM ${this.database.table(table)}
          WHERE scope = $1 ${further ? `AND (${by}) > (${behind})` : ''}
          ORDER BY ${by}
          LIMIT ${MOST_ROWS}
        ) page
      ) r
      WHERE nth = 1 OR bytes <= ${MOST_BYTES}
      ORDER BY ${by}`;
  }
}

function isJson(type: string): boolean {
  return type === 'json' || type === 'jsonb';
}

function isLarge(type: string): boolean {
  return type === 'bytea' || isJson(type);
}

/** As text where the application may have changed how the driver parses a type. */
function selected({ name, property, type }: TableColumn): string {
  const value =
    type === 'timestamptz'
      ? milliseconds(`nullif("${name}", 'infinity')`)
      : type === 'bigint' || isJson(type)
        ? `"${name}"::text`
        : `"${name}"`;
  return `${value} AS "${property}"`;
}

function parsed(row: ExportedRow, columns: readonly TableColumn[]): ExportedRow {
  for (const { property, type } of columns) {
    const value = row[property];
    if (value === null) continue;
    if (type === 'timestamptz') row[property] = new Date(value as number);
    if (isJson(type)) row[property] = JSON.parse(value as string);
  }
  return row;
}

function propertyOf(columns: readonly TableColumn[], name: string): string {
  return columns.find((column) => column.name === name)!.property;
}
