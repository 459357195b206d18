import { nameOf } from './measures.mjs';
import { takeSample } from './sample.mjs';

/** @typedef {import('./measures.mjs').Measure} Measure */

/** @typedef {import('./sample.mjs').Sample} Sample */

/**
 * @typedef {object} Times
 * @property {number} duration of one measure in one round, in milliseconds; less where time is short
 * @property {number} warmUp of one measure, in milliseconds
 * @property {number} [lead] load before each window that does not count, in milliseconds: while
 *   others had their turn, V8 has thrown away optimised code whose objects it had collected
 * @property {number} rounds at most
 * @property {number} until when all has to be measured, by performance.now()
 */

/** What a measure takes beyond its duration: connecting, the ramp, the last answers. */
const OVERHEAD = 200;
/** Shorter ones would measure the ramp. */
const SHORTEST = 250;
/** Requests of several steps are slow, so a window has to be wider to hold enough of them. */
const WIDER = 1.5;
/** Likewise for the warm-up. */
const SLOWER = 3;

/** @typedef {{ select: number, insert: number, update: number }} RoundTrips milliseconds */

/** How often each trip to the database is timed in a round. */
const ROUND_TRIPS = 100;

/**
 * Measures A B C A B C …, so that a slow minute of the machine meets all of them. In blocks, one
 * after the other: what is compared is in one block, and nobody waits for long. V8 throws away the
 * optimised code of a server that waits, and a server at work does not wait.
 */
export class Rounds {
  /** @type {Map<string, Sample[]>} by name of the measure */
  samples = new Map();
  /** @type {Map<string, string>} why a measure could not be taken */
  failures = new Map();
  /** @type {Map<string, RoundTrips[]>} by name of the measure, what single statements took */
  roundTrips = new Map();
  /** In the block that had the fewest. */
  done = Infinity;
  #lead = 0;

  /**
   * @param {import('./setup/stage.mjs').Stage} stage
   * @param {Measure[][]} blocks
   * @param {import('./progress.mjs').Progress} progress
   */
  constructor(stage, blocks, progress) {
    this.stage = stage;
    this.blocks = blocks;
    this.measures = blocks.flat();
    // Its samples would be those of both blocks, and no ratio of a round would be one.
    const names = this.measures.map(nameOf);
    const twice = names.find((name, i) => names.indexOf(name) !== i);
    if (twice) throw new Error(`${twice} is measured in two blocks. A round compares within one.`);
    this.progress = progress;
  }

  /** @param {Times} times */
  async run({ duration, warmUp, lead = 0, rounds, until }) {
    this.progress.say(`starting ${new Set(this.measures.map(serverOf)).size} servers`);
    await this.#startServers();
    this.#lead = lead;
    let left = costOf(this.measures);
    for (const block of this.blocks) {
      const now = performance.now();
      const share = now + ((until - now) * costOf(block)) / left;
      left -= costOf(block);
      await this.#warmUp(block, fitting(warmUp, block, share, 3));
      const done = await this.#runBlock(block, fitting(duration, block, share, 2), rounds, share);
      this.done = Math.min(this.done, done);
    }
  }

  /**
   * @param {Measure[]} block
   * @param {number} duration of one measure
   * @param {number} rounds at most
   * @param {number} until
   * @returns {Promise<number>} how many there were
   */
  async #runBlock(block, duration, rounds, until) {
    let done = 0;
    for (let longest = 0; done < rounds; done += 1) {
      const start = performance.now();
      if (done > 0 && start + longest > until) break;
      // Every other round backwards: whoever comes right after another would always meet what that one left.
      const order = done % 2 === 0 ? block : block.toReversed();
      await this.#round(order, duration, `round ${done + 1} of ${rounds}`);
      longest = Math.max(longest, performance.now() - start);
    }
    return done;
  }

  /**
   * @param {Measure[]} block
   * @param {number} duration of one measure
   */
  async #warmUp(block, duration) {
    for (const measure of block) {
      this.progress.step(`warming up: ${measure.label} (${measure.platform})`);
      await this.#guard(measure, async (server) => {
        const { load } = this.stage;
        const ports = [server.port];
        if (measure.replay) await load.run({ ...jobOf('finish', measure, 0), ports });
        // Requests of several steps are slow, so the code of a step is called less often.
        const longer = measure.steps ? duration * SLOWER : duration;
        await load.run({ ...jobOf('load', measure, longer), ports });
      });
    }
    await this.stage.database.analyze();
  }

  /** Side by side: they wait more for the database and the disk than for the processor. */
  async #startServers() {
    const wanted = new Map(this.measures.map((measure) => [serverOf(measure), measure]));
    await Promise.all(
      [...wanted.values()].map(({ contender, platform, far }) =>
        this.stage.server(contender, platform, far),
      ),
    );
  }

  /**
   * @param {Measure[]} order
   * @param {number} duration of one measure
   * @param {string} name
   */
  async #round(order, duration, name) {
    for (const measure of order) {
      this.progress.step(`${name}: ${measure.label} (${measure.platform})`);
      await this.#guard(measure, async (server) => {
        const samples = this.samples.get(nameOf(measure)) ?? [];
        samples.push(await this.#sample(measure, server, duration));
        this.samples.set(nameOf(measure), samples);
        if (measure.timesTrips) {
          const timed = this.roundTrips.get(nameOf(measure)) ?? [];
          timed.push(await server.ask('roundTrips', ROUND_TRIPS));
          this.roundTrips.set(nameOf(measure), timed);
        }
      });
    }
  }

  /**
   * @param {Measure} measure
   * @param {import('./setup/server.mjs').Server} server
   * @param {number} duration
   * @returns {Promise<Sample>}
   */
  async #sample(measure, server, duration) {
    const { steps } = measure;
    const window = steps ? duration * WIDER : duration;
    if (this.#lead > 0) {
      const ports = [server.port];
      await this.stage.load.run({ ...jobOf('load', measure, this.#lead), ports });
    }
    const sample = await takeSample(this.stage, [server], jobOf('load', measure, window));
    return { ...sample, perSecond: sample.perSecond * (steps ?? 1) };
  }

  /**
   * A measure that fails once is given up, and the report says why.
   *
   * @param {Measure} measure
   * @param {(server: import('./setup/server.mjs').Server) => Promise<void>} work
   */
  async #guard(measure, work) {
    const name = nameOf(measure);
    if (this.failures.has(name)) return;
    const { contender, platform, far } = measure;
    const server = await this.stage.server(contender, platform, far);
    if (!server) {
      this.failures.set(name, this.stage.missing(contender) ?? 'no server');
      return;
    }
    try {
      await work(server);
    } catch (error) {
      this.failures.set(name, error instanceof Error ? error.message : String(error));
      this.samples.delete(name);
    }
  }
}

/**
 * How much of the time measures take, compared with others.
 *
 * @param {Measure[]} measures
 */
function costOf(measures) {
  return measures.reduce((sum, { steps }) => sum + (steps ? 2 : 1), 0);
}

/**
 * As long as wished, unless so many rounds would then not fit any more.
 *
 * @param {number} wished
 * @param {Measure[]} block
 * @param {number} until
 * @param {number} rounds
 */
function fitting(wished, block, until, rounds) {
  const each = (until - performance.now()) / rounds / block.length;
  return Math.max(SHORTEST, Math.min(wished, each - OVERHEAD));
}

/** @param {Measure} measure */
function serverOf({ contender, platform, far = false }) {
  return `${contender} ${platform} ${far}`;
}

/**
 * @param {'load' | 'finish'} kind
 * @param {Measure} measure
 * @param {number} duration
 */
function jobOf(kind, { path, connections, replay = false }, duration) {
  return { kind, path, connections, replay, duration };
}
