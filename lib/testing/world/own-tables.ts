import type { INestApplicationContext } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { Database } from '../../postgres/database.js';
import { idempotencyEntities } from '../../schema/entities.js';
import { DATA_SOURCE } from '../../tokens.js';

/** The library's own tables in this application, quoted: what happens there is no effect of the user's code. */
export function ownTables(app: INestApplicationContext): string[] {
  const { entityMetadatas } = app.get<DataSource>(DATA_SOURCE, { strict: false });
  const database = app.get(Database, { strict: false });
  return entityMetadatas
    .filter(({ target }) => idempotencyEntities.some((entity) => isOrExtends(target, entity)))
    .map(({ givenTableName }) => database.table(givenTableName!));
}

function isOrExtends(target: unknown, entity: new () => object): boolean {
  return (
    target === entity ||
    (typeof target === 'function' && (target.prototype as unknown) instanceof entity)
  );
}
