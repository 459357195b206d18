// Do the migrations build exactly the tables that the entities describe? TypeORM
// answers by trying to generate the next migration: there must be none.
import { join } from 'node:path';
import { withFreshDatabase } from './fresh-database.mjs';
import { ROOT, run } from './run.mjs';

const TYPEORM = join(ROOT, 'node_modules', 'typeorm', 'cli.js');
const DATA_SOURCE = join(import.meta.dirname, 'data-source.mjs');

await withFreshDatabase(async (url) => {
  const typeorm = (/** @type {string[]} */ ...parameters) =>
    run(process.execPath, [TYPEORM, ...parameters, '-d', DATA_SOURCE], {
      env: { DATABASE_URL: url },
    });
  await typeorm('migration:run');
  await typeorm('migration:generate', '--check', 'missing');
  console.log('The migrations and the entities agree.');
});
