export { fileKeys } from './file-keys.js';
