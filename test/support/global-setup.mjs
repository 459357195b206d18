import { randomBytes } from 'node:crypto';
import { providePostgres } from '../../sample-app/database/embedded-postgres.mjs';
import { compileSources, removeBuild } from './compile.mjs';
import { prepareDatabases } from './prepare-databases.mjs';

/** What the teardown calls, in the same process. */
export let endTestRun = async () => {};

/** Once per `jest` command, before its workers start. They inherit the environment. */
export default async function globalSetup() {
  const run = `${process.pid}_${randomBytes(4).toString('hex')}`;
  const [server, build] = await Promise.all([
    providePostgres({ durable: false, maxConnections: 300 }),
    compileSources(run),
  ]);
  const databases = await prepareDatabases(server.url, run, build);

  process.env.TEST_SERVER_URL = server.url;
  process.env.TEST_SERVERS = databases.servers.join(' ');
  process.env.TEST_DATABASE_PREFIX = databases.prefix;
  process.env.TEST_DATABASE_TEMPLATE = databases.template;
  process.env.TEST_DATABASE_COPY = databases.copy;
  process.env.TEST_BUILD = build;

  endTestRun = async () => {
    await databases.drop();
    await server.stop();
    await removeBuild(build);
  };
}
