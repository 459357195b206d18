import { Progress } from './progress.mjs';
import { measuresOf } from './measures.mjs';
import { report } from './report/report.mjs';
import { Rounds } from './rounds.mjs';
import { Stage } from './setup/stage.mjs';
import { checkTargets } from './targets.mjs';

/** Under 50 seconds all in all, whatever the machine is busy with. */
const QUICK = { duration: 700, warmUp: 400, rounds: 3, until: 40_000 };
const FULL = { duration: 400, warmUp: 1_000, rounds: 13, until: 310_000 };

/**
 * The library beside its peers, in one run.
 *
 * @param {{ quick: boolean }} options
 */
export async function compare({ quick }) {
  const progress = new Progress();
  const measures = measuresOf({ quick });
  const names = [...new Set(measures.map(({ contender }) => contender))];
  const stage = await Stage.set(names, (line) => progress.say(line));
  try {
    const rounds = new Rounds(stage, measures, progress);
    await rounds.run(quick ? QUICK : FULL);
    const counted = await stage.clear();
    progress.end();
    await report({ quick, rounds, counted, targets: checkTargets(rounds) });
  } finally {
    await stage.strike();
  }
}
