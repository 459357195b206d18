import { Socket } from 'node:net';
import ProcessEnvironment from './environment.mjs';

/** What the global set-up tells about its database server and its build. */
const SETTINGS = /^(TEST_|DATABASE_(PROXY_)?URL$)/;

/**
 * The environment of `*.unit.test.ts`: no database, no server, no connection. Such a test
 * runs without the global set-up, so it must not come to depend on one that another test
 * of the same run has needed.
 */
export default class UnitEnvironment extends ProcessEnvironment {
  /** The worker's own method, which test files of other kinds use after this one. */
  #connect = Socket.prototype.connect;

  /** @override */
  async setup() {
    await super.setup();
    const { env } = process;
    for (const name of Object.keys(env)) if (SETTINGS.test(name)) delete env[name];
    Socket.prototype.connect = () => {
      throw new Error('A unit test opens no connection: name the file *.test.ts instead.');
    };
  }

  /** @override */
  async teardown() {
    Socket.prototype.connect = this.#connect;
    await super.teardown();
  }
}
