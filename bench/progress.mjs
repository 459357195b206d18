// On a terminal one line that changes; elsewhere a line for each new stage of the work.

export class Progress {
  #live = process.stderr.isTTY;
  #stage = '';

  /** @param {string} line */
  say(line) {
    this.#write(line, true);
  }

  /** @param {string} line */
  step(line) {
    // "round 2 of 5: ours, fresh" belongs to the stage "round 2 of 5".
    const stage = line.slice(0, line.indexOf(':'));
    this.#write(this.#live ? line : stage, this.#live || stage !== this.#stage);
    this.#stage = stage;
  }

  end() {
    if (this.#live) process.stderr.write('\r\x1b[K');
  }

  /**
   * @param {string} line
   * @param {boolean} wanted
   */
  #write(line, wanted) {
    if (!wanted) return;
    const seconds = `${Math.round(performance.now() / 1_000)} s`.padStart(5);
    process.stderr.write(this.#live ? `\r\x1b[K${seconds}  ${line}` : `${seconds}  ${line}\n`);
  }
}
