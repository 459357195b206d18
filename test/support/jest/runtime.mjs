import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(import.meta.url);

/** @type {Record<string, any>} */
let globals = {};

/** What `@jest/globals` exports. */
export function currentGlobals() {
  return globals;
}

/**
 * Loads test files as Node loads any module, once per worker, where Jest's own runtime
 * loads and compiles about 1,400 modules of Nest, TypeORM, Express, Fastify and this
 * library again for each test file, in a context of its own.
 *
 * It has the part of Jest's runtime that its test runner calls. Mocked modules, coverage
 * and snapshots of other runtimes are not part of it: the tests use none.
 */
export default class NativeRuntime {
  #environment;

  /**
   * @param {unknown} _config
   * @param {import('./environment.mjs').default} environment
   */
  constructor(_config, environment) {
    this.#environment = environment;
  }

  unstable_shouldLoadAsEsm() {
    return true;
  }

  /** @param {string} path */
  unstable_importModule(path) {
    return import(pathToFileURL(path).href);
  }

  /** @param {string} path */
  requireModule(path) {
    return require(path);
  }

  /**
   * Jest's test runner keeps its state in its module.
   * @param {string} path
   */
  requireInternalModule(path) {
    delete require.cache[path];
    return require(path);
  }

  /** @param {Record<string, any>} given */
  setGlobalsForRuntime(given) {
    globals = { ...given, jest: this.#environment.jest };
  }

  getSourceMaps() {
    return null;
  }
  getAllCoverageInfoCopy() {
    return undefined;
  }
  enterTestCode() {}
  leaveTestCode() {}
  teardown() {}
}
