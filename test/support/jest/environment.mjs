import { createRequire, register } from 'node:module';
import { forgetDecoratedClasses } from './package-state.mjs';

const require = createRequire(import.meta.url);
// The parts of which Jest's own environment is made.
const ofJest = createRequire(require.resolve('jest-environment-node'));
const { ModuleMocker } = ofJest('jest-mock');
const { ModernFakeTimers } = ofJest('@jest/fake-timers');

register('./hooks.mjs', import.meta.url);
process.setSourceMapsEnabled(true);
endWithParent();
endAtOnce();

/** Jest's test runner keeps its listeners here, and adds some with each test file. */
const LISTENERS = Symbol.for('EVENT_HANDLERS');

/**
 * The process itself, in place of a context of its own for each test file: see
 * runtime.mjs. What a test file changes in it is put back when the file has ended.
 */
export default class ProcessEnvironment {
  global = /** @type {any} */ (globalThis);
  fakeTimers = null;
  #before = { console: globalThis.console, exit: process.exit, env: { ...process.env } };

  /** @param {{ projectConfig: any }} config */
  constructor({ projectConfig }) {
    const mocker = new ModuleMocker(this.global);
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: this.global });
    const timers = this.fakeTimersModern;
    /** What the tests use of `jest`. */
    this.jest = {
      spyOn: mocker.spyOn.bind(mocker),
      restoreAllMocks: mocker.restoreAllMocks.bind(mocker),
      useFakeTimers: timers.useFakeTimers.bind(timers),
      useRealTimers: timers.useRealTimers.bind(timers),
      advanceTimersByTimeAsync: timers.advanceTimersByTimeAsync.bind(timers),
    };
  }

  async setup() {
    // Jest has just put its own in place, which does not know these source maps.
    delete (/** @type {Partial<ErrorConstructor>} */ (Error).prepareStackTrace);
    delete this.global[LISTENERS];
    await forgetDecoratedClasses();
  }

  async teardown() {
    const { console, exit, env } = this.#before;
    this.jest.restoreAllMocks();
    this.fakeTimersModern.dispose();
    Object.assign(this.global, { console });
    process.exit = exit;
    for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name];
    Object.assign(process.env, env);
  }

  getVmContext() {
    return null;
  }

  exportConditions() {
    return ['node', 'node-addons'];
  }
}

/**
 * A worker whose parent was killed would otherwise live on for as long as a test keeps a
 * server or a connection open. It looks for another parent instead of listening for
 * 'disconnect', because that listener would itself keep every worker from ending.
 */
function endWithParent() {
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) process.exit(1);
  }, 500).unref();
}

/**
 * Jest gives a worker 500 ms to end, and then reports that tests have left something open.
 * A worker that has nothing open comes to `beforeExit` within milliseconds; but on a busy
 * machine Node needs longer than that to take down its heap, which `exit()` leaves to the
 * system. A worker that does have something open never comes to `beforeExit`.
 */
function endAtOnce() {
  process.once('beforeExit', () => process.exit());
}
