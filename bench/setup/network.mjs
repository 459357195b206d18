import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const PROXY = fileURLToPath(new URL('./delaying-proxy.mjs', import.meta.url));

/** What a URL without a port means. */
const DEFAULT_PORTS = /** @type {Record<string, number>} */ ({
  'postgres:': 5432,
  'postgresql:': 5432,
  'redis:': 6379,
});

/** The process between servers under test and their stores that makes every round trip longer. */
export class Network {
  /** Round trips take so much longer, in milliseconds. */
  static DELAY = 1;

  #child = fork(PROXY, [String(Network.DELAY)], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  /** @type {Promise<unknown>} */
  #turn = Promise.resolve();
  /** @type {Map<string, number>} */
  #ports = new Map();

  /**
   * @param {string} url of PostgreSQL or of Redis
   * @returns {Promise<string>} the same, through the proxy
   */
  async to(url) {
    const far = new URL(url);
    const target = {
      host: far.hostname,
      port: Number(far.port) || DEFAULT_PORTS[far.protocol],
    };
    // Servers start side by side, but the proxy answers one question at a time.
    const turn = this.#turn.then(() => this.#portFor(target));
    this.#turn = turn;
    far.hostname = '127.0.0.1';
    far.port = String(await turn);
    return far.href;
  }

  async stop() {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, 'exit');
    this.#child.disconnect();
    await exited;
  }

  /** @param {{ host: string, port: number | undefined }} target */
  async #portFor(target) {
    const name = `${target.host}:${target.port}`;
    const known = this.#ports.get(name);
    if (known !== undefined) return known;
    const answered = once(this.#child, 'message');
    this.#child.send(target);
    const [port] = await answered;
    this.#ports.set(name, port);
    return port;
  }
}
