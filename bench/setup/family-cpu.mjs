import { readdirSync, readFileSync } from 'node:fs';

/** Of `/proc`: a hundredth of a second on every Linux that Node runs on. */
const TICK = 10;

/**
 * What a process and its children have used of the processors, those that have
 * ended included. NaN where the system does not tell.
 *
 * @param {number} parent
 * @returns {number} milliseconds
 */
export function familyCpu(parent) {
  try {
    const { own, ended } = readStat(parent);
    let ticks = own + ended;
    for (const name of readdirSync('/proc')) {
      const pid = Number(name);
      if (!Number.isInteger(pid)) continue;
      const child = statOf(pid);
      if (child?.parent === parent) ticks += child.own;
    }
    return ticks * TICK;
  } catch {
    return NaN;
  }
}

/**
 * @param {number} pid
 * @returns {number | undefined}
 */
export function parentOf(pid) {
  return statOf(pid)?.parent;
}

/** @param {number} pid */
function statOf(pid) {
  try {
    return readStat(pid);
  } catch {
    return undefined; // it has just ended
  }
}

/** @param {number} pid */
function readStat(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name may contain spaces; it ends with the last parenthesis.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const number = (/** @type {number} */ index) => Number(fields[index]);
  return { parent: number(1), own: number(11) + number(12), ended: number(13) + number(14) };
}
