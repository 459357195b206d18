import { Progress } from './progress.mjs';
import { CpuProfile } from './report/cpu-profile.mjs';
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
    const cpu = new CpuProfile(await server.ask('stopProfile'));
    const statements = observed ? await stage.database.observed() : [];
    const heapOnly = await stage.database.heapOnlyUpdates();
    progress.end();

    console.log(`${name}: ${figure(result.perSecond)} requests/s, p50 ${figure(result.p50)} ms`);
    console.log(`The process was idle for ${cpu.idle} of the time. Of the rest:\n`);
    console.log(table(['function, alone', 'share'], cpu.alone()));
    console.log();
    console.log(table(['function of ours, with what it calls', 'share'], cpu.withCallees()));
    console.log();
    console.log(table(['package, alone', 'share'], cpu.packages()));
    console.log(observed ? '\nIn PostgreSQL, per call:\n' : '\nNo statistics of PostgreSQL.');
    if (observed) console.log(table(STATEMENT_COLUMNS, statements));
    console.log(`\nUpdates of keys that touched no index: ${figure(heapOnly * 100)} %`);
  } finally {
    await stage.strike();
  }
}
