import { Database } from './database.js';
import { Provider } from './provider.js';
import { ShopProcess } from './shop-process.js';

/** Everything that runs beside the clients: a database, a provider, servers and a worker. */
export class World {
  private constructor(
    readonly database: Database,
    readonly provider: Provider,
    readonly processes: readonly ShopProcess[],
  ) {}

  static async start(): Promise<World> {
    const [database, provider] = await Promise.all([Database.start(), Provider.start()]);
    const urls = { databaseUrl: database.url, paymentsUrl: provider.url };
    const server = { role: 'server', ...urls } as const;
    const processes = await Promise.all([
      ShopProcess.start({ ...server, name: 'express-1', platform: 'express', mortal: false }),
      ShopProcess.start({ ...server, name: 'fastify-1', platform: 'fastify', mortal: false }),
      ShopProcess.start({ ...server, name: 'express-2', platform: 'express', mortal: true }),
      ShopProcess.start({ ...server, name: 'fastify-2', platform: 'fastify', mortal: true }),
      ShopProcess.start({
        ...urls,
        name: 'worker',
        role: 'worker',
        platform: 'express',
        mortal: true,
      }),
    ]);
    return new World(database, provider, processes);
  }

  get servers(): ShopProcess[] {
    return this.processes.filter(({ options }) => options.role === 'server');
  }

  /** Processes that live from the beginning to the end. */
  get survivors(): ShopProcess[] {
    return this.processes.filter(({ options }) => !options.mortal);
  }

  async close(): Promise<void> {
    await Promise.all(this.processes.map((each) => each.close()));
    await this.provider.close();
    await this.database.close();
  }
}
