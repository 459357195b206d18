/** @param {number} pid */
export function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: alive, and somebody else's.
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EPERM';
  }
}
