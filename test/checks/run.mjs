import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** The top of the repository. */
export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/**
 * Runs a command to its end and returns what it printed; all of it goes into
 * the error if the command fails.
 *
 * @param {string} command
 * @param {string[]} parameters
 * @param {{ cwd?: string, env?: Record<string, string> }} [options]
 * @returns {Promise<string>} its standard output
 */
export function run(command, parameters, { cwd = ROOT, env = {} } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, parameters, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    let everything = '';
    child.stdout.on('data', (chunk) => {
      output += chunk;
      everything += chunk;
    });
    child.stderr.on('data', (chunk) => (everything += chunk));
    child.on('error', reject);
    child.on('close', (code) => {
      if (code === 0) resolve(output);
      else reject(new Error(`${command} ${parameters.join(' ')} failed (${code}):\n${everything}`));
    });
  });
}
