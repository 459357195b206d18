export { isAlive } from '../../sample-app/database/is-alive.mjs';
