import { DataSource } from 'typeorm';

/**
 * Makes the library's tables.
 *
 * @param {string} url
 * @param {import('typeorm').DataSourceOptions['migrations']} migrations
 */
export async function migrate(url, migrations) {
  const source = await new DataSource({ type: 'postgres', url, migrations }).initialize();
  await source.runMigrations();
  await source.destroy();
}
