/**
 * A store of the client's that needs Node, apart from what browsers load.
 *
 * @module nestjs-atomic-idempotency/client/file
 */
export { fileKeys } from './file-keys.js';
