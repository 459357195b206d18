// What a user gets: the tarball holds what it should and nothing else, and it
// compiles, runs and can be tested in the projects that Nest's generators make.
//
//   npm run check:package                  on Node 20, 22 and 24
//   npm run check:package -- --this-node   on this Node alone, without downloads of others
//   npm run check:package -- --built       with what is in dist, without a build
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { withFreshDatabases } from './fresh-database.mjs';
import { inLanes } from './package/lanes.mjs';
import { installNodes } from './package/nodes.mjs';
import { PROJECTS } from './package/projects.mjs';
import { checkSourceMaps, checkStackTraces } from './package/source-maps.mjs';
import { checkTarball, pack } from './package/tarball.mjs';
import { compileIn, install, prepare, runIn } from './package/workspace.mjs';

// Outside the repository, or an app would find its node_modules.
const folder = await mkdtemp(join(tmpdir(), 'idempotency-package-'));
const started = performance.now();
try {
  const tarball = await pack(folder, { built: process.argv.includes('--built') });
  await checkTarball(tarball);

  const nodes = process.argv.includes('--this-node')
    ? [process.execPath]
    : [process.execPath, ...(await installNodes(folder))];
  // Side by side: each waits for the registry most of the time.
  const workspaces = [...new Set(PROJECTS.map(({ workspace }) => workspace))];
  await Promise.all(workspaces.map((name) => install(folder, name, tarball.path)));
  const user = join(folder, 'nest-11');
  await checkSourceMaps(tarball.files, join(user, 'node_modules', 'nestjs-atomic-idempotency'));
  await checkStackTraces(user);
  for (const project of PROJECTS) await prepare(folder, project);

  await inLanes(PROJECTS.flatMap((project) => compileIn(folder, project)));
  await withFreshDatabases((fresh) =>
    inLanes(PROJECTS.flatMap((project) => runIn(folder, project, nodes, fresh))),
  );
  console.log(`All of it took ${Math.round((performance.now() - started) / 1000)} s.`);
} finally {
  await rm(folder, { recursive: true, force: true });
}
