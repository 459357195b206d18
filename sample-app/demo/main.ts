import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { providePostgres } from '../database/embedded-postgres.mjs';
import { migrate } from '../database/migrate.js';
import { createScratchDatabase } from '../database/scratch-database.js';
import { whenAskedToEnd } from '../processes/asked-to-end.js';
import { startPaymentProvider } from '../processes/rocket-rides.js';
import { UndoList } from '../processes/undo-list.js';
import { CHAPTERS } from './chapters/index.js';
import { Narrator, type Verdict } from './narrator.js';
import { Stage } from './stage.js';
import { printSummary } from './summary.js';
import { duration, paint, print } from './terminal.js';

/** `npm run demo`: the story of the sample, told and checked. Exits 0 only if all of it held. */
const undo = new UndoList();
const askedToEnd = whenAskedToEnd();

async function openStage(): Promise<Stage> {
  const begun = performance.now();
  const platform = process.argv.includes('--fastify') ? 'fastify' : 'express';
  const postgres = await providePostgres();
  undo.add(() => postgres.stop());
  const database = await createScratchDatabase(postgres.url);
  undo.add(() => database.drop());
  await migrate(database.url);

  const folder = await mkdtemp(join(tmpdir(), 'rocket-rides-'));
  undo.add(() => rm(folder, { recursive: true }));
  const provider = await startPaymentProvider(join(folder, 'ledger.jsonl'), 'keep');
  undo.add(() => provider.stop());

  const urls = { databaseUrl: database.url, paymentsUrl: provider.url };
  const stage = await Stage.open(urls, platform);
  undo.add(() => stage.close());

  print(paint('bold', `Rocket Rides on ${platform}`));
  print(`${paint('gray', duration(performance.now() - begun))}  started:`);
  print(`         app, process ${stage.app.pid}, ${stage.app.url}`);
  print(`         payment provider, process ${provider.pid}, with a ledger of its own`);
  print('         PostgreSQL, for the app alone');
  return stage;
}

async function tellStory(stage: Stage): Promise<Verdict[]> {
  const verdicts: Verdict[] = [];
  for (const [index, chapter] of CHAPTERS.entries()) {
    const narrator = new Narrator(chapter.title, index + 1);
    try {
      await chapter.tell(stage, narrator);
    } catch (error) {
      narrator.fail(error);
      print(stage.app.printed());
    }
    verdicts.push(narrator.verdict());
    // What follows a broken chapter would only confuse.
    if (verdicts.at(-1)?.broken) break;
  }
  return verdicts;
}

async function demo(): Promise<boolean> {
  return printSummary(await tellStory(await openStage()), CHAPTERS.length);
}

try {
  const held = await Promise.race([demo(), askedToEnd.then(() => false)]);
  process.exitCode = held ? 0 : 1;
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
await undo.run();
// What was still starting ends with us: its channel to this process closes.
process.exit();
