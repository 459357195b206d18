// npm run bench                 everything, about thirteen minutes
// npm run bench -- --quick      the targets only, under 50 seconds; the last line is JSON
// npm run bench -- --network    with 1 ms between the server and its store, under two minutes
// npm run bench -- --open-loop  latency at fixed rates, under two minutes
// npm run bench -- --yardsticks  what is missed, beside what does less than the library, 25 minutes
//                 … --only=replay/redis   those targets alone
// npm run bench -- --growth     large tables, duplicates, large bodies, several processes
// npm run bench -- --against=main    this code beside the code of another commit, over two minutes
//                 … --only=fresh,replay   those measures alone, with more rounds
// npm run bench -- --observed    what events, metrics and traces cost, over two minutes
// npm run bench -- --encrypted   what the option `encryption` costs, over two minutes
// npm run bench -- --limited     what limits cost, over two minutes
// npm run bench -- --profile=fresh   where our server and PostgreSQL spend their time
//
// … --node=24    any of them, with the servers under test on another version of Node
// … --flush=1    any of them but the first, with a disk that takes 1 ms longer for each commit
// … --young=16   the same, with servers whose young generations have 16 MB from the beginning
import { parseArgs } from 'node:util';

// So that what was started and compiled is cleared away.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    network: { type: 'boolean', default: false },
    'open-loop': { type: 'boolean', default: false },
    node: { type: 'string' },
    flush: { type: 'string' },
    young: { type: 'string' },
    yardsticks: { type: 'boolean', default: false },
    growth: { type: 'boolean', default: false },
    profile: { type: 'string' },
    against: { type: 'string' },
    only: { type: 'string' },
    observed: { type: 'boolean', default: false },
    encrypted: { type: 'boolean', default: false },
    limited: { type: 'boolean', default: false },
  },
});

const only = values.only?.split(',');

if (values.node !== undefined) {
  const { chooseNode } = await import('./setup/node-version.mjs');
  await chooseNode(values.node, (line) => console.error(line));
}

if (values.flush !== undefined) {
  const { chooseDisk } = await import('./setup/slow-disk.mjs');
  chooseDisk(values.flush);
}

if (values.young !== undefined) {
  const { chooseYoungGeneration } = await import('./setup/young-generation.mjs');
  chooseYoungGeneration(values.young);
}

if (values.yardsticks) {
  const { yardsticks } = await import('./yardsticks.mjs');
  await yardsticks(only);
} else if (values.growth) {
  const { growth } = await import('./growth.mjs');
  await growth();
} else if (values.profile !== undefined) {
  const { profile } = await import('./profile.mjs');
  await profile(values.profile);
} else if (values.against !== undefined) {
  const { against } = await import('./against.mjs');
  await against(values.against, only);
} else if (values.observed) {
  const { observed } = await import('./observed.mjs');
  await observed(only);
} else if (values.encrypted) {
  const { encrypted } = await import('./encrypted.mjs');
  await encrypted(only);
} else if (values.limited) {
  const { limited } = await import('./limited.mjs');
  await limited(only);
} else if (values['open-loop']) {
  const { openLoopAlone } = await import('./open-loop.mjs');
  await openLoopAlone();
} else {
  const run = values.quick ? 'quick' : values.network ? 'network' : 'full';
  if (run === 'full' && (values.flush ?? values.young) !== undefined) {
    throw new Error(
      '--flush and --young are not for a full run, whose results are those of the disk and of V8 as they are.',
    );
  }
  const { compare } = await import('./compare.mjs');
  await compare(run);
}
