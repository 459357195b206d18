import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const GENERATOR = fileURLToPath(new URL('./generator.mjs', import.meta.url));

/** The load generator's process, as the bench sees it: one job at a time. */
export class Load {
  #child = fork(GENERATOR, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });

  /**
   * @param {import('./generator.mjs').Job} job
   * @returns {Promise<import('./generator.mjs').Result>}
   */
  async run(job) {
    const answered = once(this.#child, 'message');
    this.#child.send(job);
    const [{ result, error }] = await answered;
    if (error !== undefined) throw new Error(error);
    return result;
  }

  async stop() {
    if (this.#child.exitCode !== null) return;
    const exited = once(this.#child, 'exit');
    this.#child.disconnect();
    await exited;
  }
}
