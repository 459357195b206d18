import { Progress } from './progress.mjs';
import { blocksOf } from './measures.mjs';
import { openLoopOrWhyNot, paced } from './open-loop.mjs';
import { report } from './report/report.mjs';
import { Rounds } from './rounds.mjs';
import { Stage } from './setup/stage.mjs';
import { checkTargets } from './targets.mjs';

/** Under 50 seconds all in all, whatever the machine is busy with. */
const QUICK = { duration: 700, warmUp: 400, rounds: 3, until: 40_000 };
const TIMES = {
  quick: QUICK,
  network: { duration: 400, warmUp: 800, lead: 300, rounds: 13, until: 90_000 },
  /** The open loop comes afterwards. */
  full: { duration: 400, warmUp: 4_000, lead: 300, rounds: 13, until: 640_000 },
};

/**
 * The library beside its peers, in one run.
 *
 * @param {import('./measures.mjs').Run} run
 */
export async function compare(run) {
  const progress = new Progress();
  const blocks = blocksOf(run);
  const full = run === 'full';
  const taking = full ? [...blocks.flat(), ...paced] : blocks.flat();
  const names = [...new Set(taking.map(({ contender }) => contender))];
  const stage = await Stage.set(names, (line) => progress.say(line));
  try {
    const rounds = new Rounds(stage, blocks, progress);
    await rounds.run(TIMES[run]);
    const loop = full ? { openLoop: await openLoopOrWhyNot(stage, progress) } : {};
    const counted = await stage.clear();
    progress.end();
    await report({ run, rounds, counted, targets: checkTargets(rounds), ...loop });
  } finally {
    await stage.strike();
  }
}
