import { bodySize } from './growth/body-size.mjs';
import { duplicates } from './growth/duplicates.mjs';
import { reportGrowth } from './growth/growth-report.mjs';
import { processes } from './growth/processes.mjs';
import { tableSize } from './growth/table-size.mjs';
import { Progress } from './progress.mjs';
import { Stage } from './setup/stage.mjs';

/** How the library fares when things get larger. */
export async function growth() {
  const progress = new Progress();
  const stage = await Stage.set(['ours', 'bare'], (line) => progress.say(line));
  try {
    const sections = [];
    for (const section of [processes, duplicates, bodySize, tableSize]) {
      sections.push(await section(stage, progress));
    }
    progress.end();
    await reportGrowth(stage, sections);
  } finally {
    await stage.strike();
  }
}
