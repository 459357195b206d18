// Do the migrations build exactly the tables that the entities describe? TypeORM
// answers by trying to generate the next migration: there must be none. Asked for
// tables without and with a prefix, side by side in one database.
import { join } from 'node:path';
import { withFreshDatabase } from './fresh-database.mjs';
import { ROOT, run } from './run.mjs';

const TYPEORM = join(ROOT, 'node_modules', 'typeorm', 'cli.js');
const DATA_SOURCE = join(import.meta.dirname, 'data-source.mjs');

await withFreshDatabase(async (url) => {
  const typeorm = (/** @type {string} */ prefix, /** @type {string[]} */ ...parameters) =>
    run(process.execPath, [TYPEORM, ...parameters, '-d', DATA_SOURCE], {
      env: { DATABASE_URL: url, ENTITY_PREFIX: prefix },
    });
  for (const prefix of ['', 'shop_']) await typeorm(prefix, 'migration:run');
  for (const prefix of ['', 'shop_']) {
    await typeorm(prefix, 'migration:generate', '--check', 'missing');
  }
  console.log('The migrations and the entities agree.');
});
