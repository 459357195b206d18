import { readFileSync } from 'node:fs';

/**
 * @typedef {object} ThreadTime milliseconds
 * @property {number} running
 * @property {number} ready but without a processor
 */

/**
 * Of the main thread of a process, since it started; undefined where the system does not tell.
 *
 * @param {number | undefined} pid
 * @returns {ThreadTime | undefined}
 */
export function threadTime(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8');
    const [running = NaN, ready = NaN] = stat.split(' ').map((time) => Number(time) / 1e6);
    return { running, ready };
  } catch {
    return undefined;
  }
}
