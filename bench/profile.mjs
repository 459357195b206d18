import { Progress } from './progress.mjs';
import { figure, table } from './report/format.mjs';
import { Stage } from './setup/stage.mjs';

/** What a profile can be taken of: the route, and how it is asked. */
const subjects = {
  fresh: { path: '/payments', connections: 32 },
  replay: { path: '/payments', connections: 32, replay: true },
  alone: { path: '/payments', connections: 1 },
  local: { path: '/steps/local', connections: 16 },
  foreign: { path: '/steps/foreign', connections: 16 },
};

const WARM_UP = 2_000;
const DURATION = 5_000;
const MOST_ROWS = 30;
const STATEMENT_COLUMNS = ['statement', 'calls', 'rows', 'plan ms', 'run ms', 'WAL bytes'];

/**
 * Where our server and PostgreSQL spend their time under load.
 *
 * @param {string} name one of the subjects
 */
export async function profile(name) {
  const subject = Object.hasOwn(subjects, name) && subjects[/** @type {keyof subjects} */ (name)];
  if (!subject) throw new Error(`--profile takes one of: ${Object.keys(subjects).join(', ')}.`);
  const progress = new Progress();
  const stage = await Stage.set(['ours'], (line) => progress.say(line));
  try {
    const observed = await stage.database.observe();
    const server = await stage.start('ours', 'fastify');
    const job = { replay: false, ...subject, ports: [server.port] };
    progress.say(`profiling: ${name}`);
    if (job.replay) await stage.load.run({ ...job, kind: 'finish', duration: 0 });
    await stage.load.run({ ...job, kind: 'load', duration: WARM_UP });
    if (observed) await stage.database.forgetObserved();
    await server.ask('startProfile');
    const result = await stage.load.run({ ...job, kind: 'load', duration: DURATION });
    const { selfTimes, idle } = selfTimesOf(await server.ask('stopProfile'));
    const statements = observed ? await stage.database.observed() : [];
    progress.end();

    console.log(`${name}: ${figure(result.perSecond)} requests/s, p50 ${figure(result.p50)} ms`);
    console.log(`The process was idle for ${share(idle)} of the time. The rest, by function:\n`);
    console.log(
      table(
        ['function', 'of the busy time'],
        topOf(selfTimes, ({ title }) => title),
      ),
    );
    console.log('\nBy package:\n');
    console.log(
      table(
        ['package', 'of the busy time'],
        topOf(selfTimes, ({ owner }) => owner),
      ),
    );
    console.log(observed ? '\nIn PostgreSQL, per call:\n' : '\nNo statistics of PostgreSQL.');
    if (observed) console.log(table(STATEMENT_COLUMNS, statements));
  } finally {
    await stage.strike();
  }
}

/**
 * @typedef {object} SelfTime
 * @property {string} title
 * @property {string} owner the package, or the part of the library
 * @property {number} time
 */

/**
 * @param {{ nodes: any[], samples: number[], timeDeltas: number[] }} recorded
 * @returns {{ selfTimes: SelfTime[], idle: number }}
 */
function selfTimesOf({ nodes, samples, timeDeltas }) {
  const byId = new Map(nodes.map((node) => [node.id, { ...node.callFrame, time: 0 }]));
  samples.forEach((id, i) => (byId.get(id).time += timeDeltas[i] ?? 0));
  const frames = [...byId.values()];
  const total = frames.reduce((sum, { time }) => sum + time, 0);
  const idle = frames.filter(({ functionName }) => functionName === '(idle)');
  // The call of the inspector that starts the profile is not the server's own work.
  const busy = frames.filter(({ functionName }) => !['(idle)', 'dispatch'].includes(functionName));
  return {
    idle: idle.reduce((sum, { time }) => sum + time, 0) / total,
    selfTimes: busy.map(({ functionName, url, lineNumber, time }) => {
      const place = placeOf(url);
      const title = `${functionName || '(anonymous)'} ${place.file}:${lineNumber + 1}`;
      return { title, owner: place.owner, time };
    }),
  };
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
  return { file: url || '(native)', owner: url.startsWith('node:') ? 'node' : '(native)' };
}

/**
 * @param {SelfTime[]} selfTimes
 * @param {(selfTime: SelfTime) => string} by
 */
function topOf(selfTimes, by) {
  const total = selfTimes.reduce((sum, { time }) => sum + time, 0);
  /** @type {Map<string, number>} */
  const sums = new Map();
  for (const each of selfTimes) sums.set(by(each), (sums.get(by(each)) ?? 0) + each.time);
  return [...sums]
    .sort(([, a], [, b]) => b - a)
    .slice(0, MOST_ROWS)
    .map(([name, time]) => [name, share(time / total)]);
}

/** @param {number} part */
function share(part) {
  return `${(part * 100).toFixed(1)} %`;
}
