import { DataSource } from 'typeorm';
import { dataSourceOptions } from './data-source.js';

/** A step of the deployment, before the first process of the new version starts. */
export async function migrate(url: string): Promise<void> {
  const dataSource = await new DataSource(dataSourceOptions(url)).initialize();
  try {
    await dataSource.runMigrations();
  } finally {
    await dataSource.destroy();
  }
}
