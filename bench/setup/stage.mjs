import { contenders } from '../contenders.mjs';
import { Load } from '../load/load.mjs';
import { build } from './build.mjs';
import { Database } from './database.mjs';
import { installPeers } from './packages.mjs';
import { provideRedis } from './redis.mjs';
import { Server } from './server.mjs';

/** @typedef {import('../contenders.mjs').ContenderName} ContenderName */
/** @typedef {import('../contenders.mjs').Platform} Platform */

/** Everything that has to run before anything can be measured. */
export class Stage {
  /** @type {Server[]} */
  #servers = [];
  /** @type {Map<string, Server>} */
  #named = new Map();
  load = new Load();

  /**
   * @param {Database} database
   * @param {import('./redis.mjs').Redis} redis
   */
  constructor(database, redis) {
    this.database = database;
    this.redis = redis;
  }

  /**
   * @param {ContenderName[]} names who will take part
   * @param {(line: string) => void} say
   * @param {string} [ref] the commit of the contender `before`
   */
  static async set(names, say, ref) {
    const places = new Set(names.map((name) => contenders[name].place));
    if (places.has('bench') || places.has('nodeIdempotency')) await installPeers(say);
    say('compiling; starting PostgreSQL');
    const wantsRedis = names.some((name) => needsOf(name) === 'redis');
    const [database, redis] = await Promise.all([
      Database.start(),
      wantsRedis ? provideRedis() : { note: 'not needed', stop: async () => undefined },
      build(places, ref),
    ]);
    return new Stage(database, redis);
  }

  /**
   * The one server of a contender on a platform; undefined where there is no Redis for it.
   *
   * @param {ContenderName} name
   * @param {Platform} platform
   */
  async server(name, platform) {
    const key = `${name} ${platform}`;
    const running = this.#named.get(key);
    if (running || (needsOf(name) === 'redis' && !this.redis.url)) return running;
    const server = await this.start(name, platform);
    this.#named.set(key, server);
    return server;
  }

  /**
   * A further server, with a database of its own unless it is to share one.
   *
   * @param {ContenderName} name
   * @param {Platform} platform
   * @param {{ databaseUrl?: string, execArgv?: string[] }} [options]
   */
  async start(name, platform, options = {}) {
    const needs = needsOf(name);
    const server = await Server.start(contenders[name], {
      platform,
      ...options,
      ...(needs === 'redis' && { redisUrl: this.redis.url }),
      ...(needs === 'postgres' && {
        databaseUrl: options.databaseUrl ?? (await this.database.create()),
      }),
    });
    this.#servers.push(server);
    return server;
  }

  /** Ends the servers and compares their count of transactions with PostgreSQL's. */
  async clear() {
    let sent = 0;
    for (const server of this.#servers) {
      // One that died took its count along; its measures say that it failed.
      const usage = await server.usage().catch(() => undefined);
      sent += usage?.transactions ?? 0;
      await server.stop();
    }
    return { sent, committed: await this.database.committed() };
  }

  async strike() {
    await this.load.stop();
    for (const server of this.#servers) await server.stop();
    await this.redis.stop();
    await this.database.stop();
  }
}

/** @param {ContenderName} name */
function needsOf(name) {
  const contender = /** @type {import('../contenders.mjs').Contender} */ (contenders[name]);
  return contender.needs;
}
