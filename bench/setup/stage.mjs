import { contenders } from '../contenders.mjs';
import { Load } from '../load/load.mjs';
import { build } from './build.mjs';
import { Database } from './database.mjs';
import { Network } from './network.mjs';
import { installPeers } from './packages.mjs';
import { provideRedis } from './redis.mjs';
import { Server } from './server.mjs';

/** @typedef {import('../contenders.mjs').ContenderName} ContenderName */
/** @typedef {import('../contenders.mjs').Platform} Platform */
/** @typedef {import('./redis.mjs').Redis} Redis */

/** @type {Redis} */
const UNNEEDED = { note: 'not needed', stop: async () => undefined };

/** Everything that has to run before anything can be measured. */
export class Stage {
  /** @type {Server[]} */
  #servers = [];
  /** @type {Map<string, Server>} */
  #named = new Map();
  /** @type {Network | undefined} */
  #network;
  load = new Load();

  /**
   * @param {Database} database
   * @param {Record<import('./redis.mjs').RedisMode, Redis>} redises
   */
  constructor(database, redises) {
    this.database = database;
    this.redises = redises;
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
    const needed = new Set(names.map(needsOf));
    const [database, redis, durableRedis] = await Promise.all([
      Database.start(),
      needed.has('redis') ? provideRedis('redis') : UNNEEDED,
      needed.has('durableRedis') ? provideRedis('durableRedis') : UNNEEDED,
      build(places, ref),
    ]);
    return new Stage(database, { redis, durableRedis });
  }

  /**
   * The one server of a contender on a platform, near its store or far from it; undefined where it
   * has no store.
   *
   * @param {ContenderName} name
   * @param {Platform} platform
   * @param {boolean} [far]
   */
  async server(name, platform, far = false) {
    const key = `${name} ${platform} ${far}`;
    const running = this.#named.get(key);
    if (running || this.missing(name) !== undefined) return running;
    const server = await this.start(name, platform, { far });
    this.#named.set(key, server);
    return server;
  }

  /**
   * @param {ContenderName} name
   * @returns {string | undefined} why there is no store for it
   */
  missing(name) {
    const needs = needsOf(name);
    if (needs === undefined || needs === 'postgres') return undefined;
    const { url, note } = this.redises[needs];
    return url === undefined ? note : undefined;
  }

  /**
   * A further server, with a database of its own unless it is to share one.
   *
   * @param {ContenderName} name
   * @param {Platform} platform
   * @param {{ databaseUrl?: string, far?: boolean, execArgv?: string[] }} [options]
   */
  async start(name, platform, { databaseUrl, far = false, execArgv = [] } = {}) {
    const needs = needsOf(name);
    const store = (/** @type {string | undefined} */ url) => (far && url ? this.#far(url) : url);
    const server = await Server.start(contenders[name], {
      platform,
      execArgv,
      ...(needs === 'postgres'
        ? { databaseUrl: await store(databaseUrl ?? (await this.database.create())) }
        : needs && { redisUrl: await store(this.redises[needs].url) }),
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
    await this.#network?.stop();
    for (const { stop } of Object.values(this.redises)) await stop();
    await this.database.stop();
  }

  /** @param {string} url */
  #far(url) {
    this.#network ??= new Network();
    return this.#network.to(url);
  }
}

/** @param {ContenderName} name */
function needsOf(name) {
  const contender = /** @type {import('../contenders.mjs').Contender} */ (contenders[name]);
  return contender.needs;
}
