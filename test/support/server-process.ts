import { afterAll } from '@jest/globals';
import { bundledServers } from './bundled-servers.mjs';
import { forkServer, type ServerProcess, type ServerProcessOptions } from './forked-server.js';

export { type ServerProcess, type ServerProcessOptions } from './forked-server.js';

const running = new Set<ServerProcess>();
afterAll(async () => {
  await Promise.all([...running].map((server) => server.kill()));
});

/**
 * Starts a compiled server in a process of its own, so that a test can kill it;
 * it ends with the test file at the latest.
 *
 * @param script from the top of the repository and without extension: `test/servers/orders`
 */
export async function startServer(
  script: string,
  options: ServerProcessOptions = {},
): Promise<ServerProcess> {
  const { bundled = true } = options;
  const bundles = bundled ? await bundledServers(process.env.TEST_BUILD ?? '') : undefined;
  const server = forkServer(script, options, bundles);
  running.add(server);
  void server.exited.then(() => running.delete(server));
  await server.ready();
  return server;
}
