/**
 * A client: `fetch()` that repeats a request until its outcome is known.
 *
 * @module nestjs-atomic-idempotency/client
 */
export {
  createIdempotentFetch,
  type IdempotentFetch,
  type IdempotentFetchOptions,
  type IdempotentInit,
} from './idempotent-fetch.js';
export type { CodeOf } from './answers.js';
export {
  AnswerError,
  IdempotentFetchError,
  NotExecutedError,
  OutcomeUnknownError,
  RequestRefusedError,
  type FailedOperation,
  type UnknownReason,
} from './errors.js';
export { indexedDbKeys } from './indexed-db-keys.js';
export { memoryKeys, type KeyStore, type StoredKey } from './key-store.js';
export type { ProblemCode } from './problem-codes.js';
export { resultOf } from './result-of.js';
export { uuidV7 } from './uuid-v7.js';
