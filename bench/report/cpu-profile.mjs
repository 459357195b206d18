const MOST_ROWS = 30;

/**
 * @typedef {object} Frame
 * @property {string} title
 * @property {string} owner the package, the module of Node, or the folder of the library
 * @property {number} time spent in it alone
 * @property {number[]} callees
 */

/** A profile of V8, read for its totals. Times are shares of the time in which the process was busy. */
export class CpuProfile {
  /** @type {Map<number, Frame>} */
  #frames = new Map();
  #busy = 0;
  #root;

  /** @param {{ nodes: any[], samples: number[], timeDeltas: number[] }} recorded */
  constructor({ nodes, samples, timeDeltas }) {
    let idle = 0;
    for (const { id, callFrame, children = [] } of nodes) {
      this.#frames.set(id, { ...frameOf(callFrame), time: 0, callees: children });
    }
    samples.forEach((id, i) => {
      const frame = /** @type {Frame} */ (this.#frames.get(id));
      const time = timeDeltas[i] ?? 0;
      if (frame.title.startsWith('(idle)')) idle += time;
      // The call of the inspector that starts the profile is not the server's own work.
      else if (!frame.title.startsWith('dispatch ')) {
        frame.time += time;
        this.#busy += time;
      }
    });
    this.#root = nodes[0].id;
    this.idle = percent(idle / (idle + this.#busy));
  }

  alone() {
    return this.#top([...this.#frames.values()].map(({ title, time }) => [title, time]));
  }

  packages() {
    return this.#top([...this.#frames.values()].map(({ owner, time }) => [owner, time]));
  }

  /** What is awaited is not part of it: it comes back on a stack of its own. */
  withCallees() {
    /** @type {[string, number][]} */
    const times = [];
    /** @type {(id: number, callers: Set<string>) => number} */
    const visit = (id, callers) => {
      const { title, owner, time, callees } = /** @type {Frame} */ (this.#frames.get(id));
      const below = new Set(callers).add(title);
      const sum = callees.reduce((total, callee) => total + visit(callee, below), time);
      // A function that calls itself is counted where it was called first.
      if (owner.startsWith('lib/') && !callers.has(title)) times.push([title, sum]);
      return sum;
    };
    visit(this.#root, new Set());
    return this.#top(times);
  }

  /** @param {[string, number][]} times */
  #top(times) {
    /** @type {Map<string, number>} */
    const sums = new Map();
    for (const [name, time] of times) sums.set(name, (sums.get(name) ?? 0) + time);
    return [...sums]
      .sort(([, a], [, b]) => b - a)
      .slice(0, MOST_ROWS)
      .map(([name, time]) => [name, percent(time / this.#busy)]);
  }
}

/** @param {{ functionName: string, url: string, lineNumber: number }} callFrame */
function frameOf({ functionName, url, lineNumber }) {
  const { file, owner } = placeOf(url);
  return { title: `${functionName || '(anonymous)'} ${file}:${lineNumber + 1}`, owner };
}

/** @param {string} url */
function placeOf(url) {
  const own = /\.cache\/bench\/\d+\/((?:lib|contenders|migrations)\/.*)$/.exec(url);
  if (own) {
    const file = /** @type {string} */ (own[1]);
    return { file, owner: file.split('/').slice(0, 2).join('/') };
  }
  const installed = /node_modules\/((?:@[^/]+\/)?[^/]+)\/(.*)$/.exec(url);
  if (installed) return { file: `${installed[1]}/${installed[2]}`, owner: `${installed[1]}` };
  const builtIn = /^node:(?:internal\/)?[^/]+/.exec(url)?.[0].replace('internal/', '');
  return { file: url || '(native)', owner: builtIn ?? '(native)' };
}

/** @param {number} part */
function percent(part) {
  return `${(part * 100).toFixed(1)} %`;
}
