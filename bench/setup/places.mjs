import { fileURLToPath } from 'node:url';

const bench = new URL('../', import.meta.url);

/** Folders whose installed packages contenders use. */
export const places = {
  /** Nest 12, TypeORM and the library itself. */
  root: fileURLToPath(new URL('../', bench)),
  /** DBOS, and everything of the root. */
  bench: fileURLToPath(bench),
  /** The packages of the root, and the library as it was at another commit. */
  before: fileURLToPath(new URL('../', bench)),
  /** The packages of the root, and the library without its events and spans. */
  eventless: fileURLToPath(new URL('../', bench)),
  /** @node-idempotency/nestjs with its Nest 10. */
  nodeIdempotency: fileURLToPath(new URL('peers/node-idempotency/', bench)),
};

/** @typedef {keyof typeof places} Place */
