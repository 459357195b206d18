import { beforeAll, describe, expect, it } from '@jest/globals';
import { idempotencyEntities } from 'nestjs-atomic-idempotency';
import { DataSource, type EntityMetadata } from 'typeorm';
import { FAULT_STEPS } from 'nestjs-atomic-idempotency/testing';
import { KEY_STATUSES } from '../../lib/schema/key-status.js';
import { textsOf } from './declared.js';
import { firstCells, sorted, tableOf } from './document.js';

const TABLES = 'reference/tables.md';

/** The database is not asked: what the entities say is what the migrations make (check:migrations). */
class Metadata extends DataSource {
  async build(): Promise<EntityMetadata[]> {
    await this.buildMetadatas();
    return this.entityMetadatas;
  }
}

describe('the page of tables', () => {
  let entities: EntityMetadata[];
  beforeAll(async () => {
    entities = await new Metadata({ type: 'postgres', entities: idempotencyEntities }).build();
  });

  it('has every column with its type, whether it may be null, and its default', () => {
    for (const { tableName, columns } of entities) {
      const rows = columns.map((column) => [
        column.databaseName,
        String(column.type),
        column.isNullable ? 'yes' : '',
        defaultOf(column),
      ]);
      expect([tableName, tableOf(TABLES, tableName).map((row) => row.slice(0, 4))]).toEqual([
        tableName,
        rows,
      ]);
    }
  });

  it('has every key and every index', () => {
    const rows = entities.flatMap(
      ({ tableName, primaryColumns, uniques, indices, foreignKeys }) => {
        const list = (columns: { databaseName: string }[]) =>
          columns.map((column) => column.databaseName).join(', ');
        return [
          [tableName, 'primary key', list(primaryColumns), ''],
          ...uniques.map(({ columns }) => [tableName, 'unique', list(columns), '']),
          ...foreignKeys.map(({ columns, referencedEntityMetadata, onDelete }) => [
            tableName,
            'foreign key',
            list(columns),
            `${referencedEntityMetadata.tableName}, ON DELETE ${onDelete}`,
          ]),
          ...indices.map(({ columns, where, isUnique }) => [
            tableName,
            isUnique ? 'unique index' : 'index',
            list(columns),
            where ?? '',
          ]),
        ];
      },
    );
    const page = tableOf(TABLES, 'table').map((row) => row.slice(0, 4));
    expect(sorted(page)).toEqual(sorted(rows));
  });
});

function defaultOf(column: EntityMetadata['columns'][number]): string {
  if (column.generatedIdentity !== undefined) return 'identity';
  if (column.isGenerated) return 'sequence';
  const value: unknown = column.default;
  if (value === undefined) return '';
  if (typeof value === 'function') return String((value as () => string)());
  return typeof value === 'string' ? `'${value}'` : JSON.stringify(value);
}

describe('the pages of concepts', () => {
  it('have each state of a key', () => {
    expect(firstCells('concepts/states.md', 'state').toSorted()).toEqual(
      [...KEY_STATUSES].toSorted(),
    );
  });

  it('have each state and each kind of a phase', () => {
    expect(firstCells('concepts/phases.md', 'state of a phase').toSorted()).toEqual(
      textsOf('lib/schema/phase-record.ts', 'PhaseState').toSorted(),
    );
    expect(firstCells('concepts/phases.md', 'kind').toSorted()).toEqual(
      textsOf('lib/schema/phase-record.ts', 'PhaseKind').toSorted(),
    );
  });

  it('have each step at which a process can die', () => {
    expect(firstCells('guides/crash-safety.md', 'step').toSorted()).toEqual(
      [...FAULT_STEPS].toSorted(),
    );
  });
});
