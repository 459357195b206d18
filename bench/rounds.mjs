import { nameOf } from './measures.mjs';

/** @typedef {import('./measures.mjs').Measure} Measure */

/**
 * @typedef {object} Sample one measure in one round; all but the first three are per request
 * @property {number} perSecond requests, or durable steps where those are counted
 * @property {number} p50 milliseconds
 * @property {number} p99 milliseconds
 * @property {number} cpu milliseconds of the Node process
 * @property {number} statements
 * @property {number} transactions
 * @property {number} log bytes that PostgreSQL wrote ahead
 */

/**
 * @typedef {object} Times
 * @property {number} duration of one measure in one round, in milliseconds; less where time is short
 * @property {number} warmUp of one measure, in milliseconds
 * @property {number} rounds at most
 * @property {number} until when all has to be measured, by performance.now()
 */

/** What a measure takes beyond its duration: connecting, the ramp, the last answers. */
const OVERHEAD = 200;
/** Shorter ones would measure the ramp. */
const SHORTEST = 250;
/** Requests of several steps are slow, so a window has to be wider to hold enough of them. */
const WIDER = 1.5;

/** How often each trip to the database is timed in a round. */
const ROUND_TRIPS = 100;

/** Measures A B C A B C …, so that a slow minute of the machine meets all of them. */
export class Rounds {
  /** @type {Map<string, Sample[]>} by name of the measure */
  samples = new Map();
  /** @type {Map<string, string>} why a measure could not be taken */
  failures = new Map();
  /** @type {{ select: number, insert: number, update: number }[]} */
  roundTrips = [];
  done = 0;

  /**
   * @param {import('./setup/stage.mjs').Stage} stage
   * @param {Measure[]} measures
   * @param {import('./progress.mjs').Progress} progress
   */
  constructor(stage, measures, progress) {
    this.stage = stage;
    this.measures = measures;
    this.progress = progress;
  }

  /** @param {Times} times */
  async run({ duration, warmUp, rounds, until }) {
    await this.#begin(warmUp, until);
    const measured = this.#fitting(duration, until, 2);
    let longest = 0;
    while (this.done < rounds) {
      const start = performance.now();
      if (this.done > 0 && start + longest > until) break;
      await this.#round(measured, rounds);
      longest = Math.max(longest, performance.now() - start);
      this.done += 1;
    }
  }

  /**
   * As long as wished, unless so many rounds would then not fit any more.
   *
   * @param {number} wished
   * @param {number} until
   * @param {number} rounds
   */
  #fitting(wished, until, rounds) {
    const each = (until - performance.now()) / rounds / this.measures.length;
    return Math.max(SHORTEST, Math.min(wished, each - OVERHEAD));
  }

  /**
   * @param {number} warmUp
   * @param {number} until
   */
  async #begin(warmUp, until) {
    this.progress.say(`starting ${new Set(this.measures.map(serverOf)).size} servers`);
    await this.#startServers();
    const duration = this.#fitting(warmUp, until, 3);
    for (const measure of this.measures) {
      this.progress.step(`warming up: ${measure.label} (${measure.platform})`);
      await this.#guard(measure, async (server) => {
        if (measure.replay) await this.stage.load.run(jobOf('finish', measure, server, 0));
        await this.stage.load.run(jobOf('load', measure, server, duration));
      });
    }
  }

  /** Side by side: they wait more for the database and the disk than for the processor. */
  async #startServers() {
    const wanted = new Map(this.measures.map((measure) => [serverOf(measure), measure]));
    await Promise.all(
      [...wanted.values()].map(({ contender, platform }) => this.stage.server(contender, platform)),
    );
  }

  /**
   * @param {number} duration
   * @param {number} rounds
   */
  async #round(duration, rounds) {
    for (const measure of this.measures) {
      this.progress.step(
        `round ${this.done + 1} of ${rounds}: ${measure.label} (${measure.platform})`,
      );
      await this.#guard(measure, async (server) => {
        const samples = this.samples.get(nameOf(measure)) ?? [];
        samples.push(await this.#sample(measure, server, duration));
        this.samples.set(nameOf(measure), samples);
        if (measure.id === 'ours.alone') {
          this.roundTrips.push(await server.ask('roundTrips', ROUND_TRIPS));
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
    const { database, load } = this.stage;
    const window = measure.steps ? duration * WIDER : duration;
    const [before, logBefore] = [await server.usage(), await database.writtenLog()];
    const { total, perSecond, p50, p99 } = await load.run(jobOf('load', measure, server, window));
    const [after, logAfter] = [await server.usage(), await database.writtenLog()];
    return {
      perSecond: perSecond * (measure.steps ?? 1),
      p50,
      p99,
      cpu: (after.cpu - before.cpu) / total,
      statements: (after.statements - before.statements) / total,
      transactions: (after.transactions - before.transactions) / total,
      log: server.usesDatabase ? (logAfter - logBefore) / total : 0,
    };
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
    const server = await this.stage.server(measure.contender, measure.platform);
    if (!server) {
      this.failures.set(name, this.stage.redis.note);
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

/** @param {Measure} measure */
function serverOf({ contender, platform }) {
  return `${contender} ${platform}`;
}

/**
 * @param {'load' | 'finish'} kind
 * @param {Measure} measure
 * @param {import('./setup/server.mjs').Server} server
 * @param {number} duration
 * @returns {import('./load/generator.mjs').Job}
 */
function jobOf(kind, { path, connections, replay = false }, { port }, duration) {
  return { kind, ports: [port], path, connections, replay, duration };
}
