import { Progress } from './progress.mjs';
import { CpuProfile } from './report/cpu-profile.mjs';
import { writeResults } from './report/files.mjs';
import { figure, table } from './report/format.mjs';
import { Stage } from './setup/stage.mjs';
import { threadTime } from './setup/thread-time.mjs';

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
/** Before the profiler, which takes time of its own. */
const UNPROFILED = 3_000;
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
    await stage.database.analyze();
    const thread = await shareOfTime(server, () =>
      stage.load.run({ ...job, kind: 'load', duration: UNPROFILED }),
    );
    if (observed) await stage.database.forgetObserved();
    await server.ask('startProfile');
    const result = await stage.load.run({ ...job, kind: 'load', duration: DURATION });
    const cpu = new CpuProfile(await server.ask('stopProfile'));
    const statements = observed ? await stage.database.observed() : [];
    const heapOnly = await stage.database.heapOnlyUpdates();
    progress.end();

    const sections = [
      `\`npm run bench -- --profile=${name}\`: ${figure(result.perSecond)} requests/s, p50 ${figure(result.p50)} ms.`,
      ...(thread === undefined ? [] : [thread]),
      `Under the profiler the server's process was idle for ${cpu.idle} of the time. Of the rest:`,
      table(['function, alone', 'share'], cpu.alone()),
      table(['function of ours, with what it calls', 'share'], cpu.withCallees()),
      table(['package, alone', 'share'], cpu.packages()),
      ...(observed
        ? ['In PostgreSQL, per call:', table(STATEMENT_COLUMNS, statements)]
        : ['No statistics of PostgreSQL.']),
      `Updates of keys that touched no index: ${figure(heapOnly * 100)} %`,
    ];
    const markdown = sections.join('\n\n');
    console.log(markdown);
    const file = await writeResults(`profile-${name}`, {
      markdown: `# Profile: ${name}\n\n${markdown}`,
    });
    console.log(`\nWritten to ${file}.`);
  } finally {
    await stage.strike();
  }
}

/**
 * What the one thread that all requests pass was doing meanwhile.
 *
 * @param {import('./setup/server.mjs').Server} server
 * @param {() => Promise<unknown>} work
 * @returns {Promise<string | undefined>}
 */
async function shareOfTime({ child }, work) {
  const [before, begun] = [threadTime(child.pid), performance.now()];
  await work();
  const [after, elapsed] = [threadTime(child.pid), performance.now() - begun];
  if (!before || !after) return undefined;
  const running = (after.running - before.running) / elapsed;
  const ready = (after.ready - before.ready) / elapsed;
  const percent = (/** @type {number} */ share) => `${figure(share * 100)} %`;
  return `Without the profiler the server's thread ran for ${percent(running)} of the time, waited for a processor for ${percent(ready)}, and for PostgreSQL or its clients for ${percent(1 - running - ready)}.`;
}
