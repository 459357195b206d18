// What a user gets: the tarball holds what it should and nothing else, and it
// works in an empty application of each supported generation.
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { withFreshDatabase } from './fresh-database.mjs';
import { ROOT, run } from './run.mjs';

const FIXTURES = join(ROOT, 'test', 'package');
const APPS = ['nest-12-esm', 'nest-11-commonjs'];
const EXPECTED =
  /^(dist\/(cjs\/)?(lib|migrations)\/.+\.(js|d\.ts)|docs\/[a-z-]+\.md|README\.md|CHANGELOG\.md|LICENSE|(dist\/cjs\/)?package\.json)$/;

// Outside the repository, or an app would find its node_modules.
const folder = await mkdtemp(join(tmpdir(), 'idempotency-package-'));
try {
  const tarball = await pack();
  for (const app of APPS) await tryIn(app, tarball);
} finally {
  await rm(folder, { recursive: true, force: true });
}

/** @returns {Promise<string>} the tarball's path */
async function pack() {
  const printed = await run('npm', [
    'pack',
    '--json',
    '--foreground-scripts=false',
    `--pack-destination=${folder}`,
  ]);
  const [{ filename, files }] = JSON.parse(printed);
  /** @type {string[]} */
  const paths = files.map((/** @type {{ path: string }} */ file) => file.path);

  const strangers = paths.filter((path) => !EXPECTED.test(path) || path.includes('.test.'));
  if (strangers.length > 0) throw new Error(`The package must not hold ${strangers.join(', ')}`);
  const missing = (await promised()).filter((path) => !paths.includes(path));
  if (missing.length > 0) throw new Error(`The package lacks ${missing.join(', ')}`);
  console.log(`The package holds ${paths.length} files, as it should.`);
  return join(folder, filename);
}

/** @returns {Promise<string[]>} the files that a user counts on, `exports` included */
async function promised() {
  const { exports, main, types, typesVersions } = JSON.parse(
    await readFile(join(ROOT, 'package.json'), 'utf8'),
  );
  const files = targets([exports, main, types, typesVersions]).map((file) =>
    file.replace('./', ''),
  );
  return ['README.md', 'CHANGELOG.md', 'LICENSE', 'dist/cjs/package.json', ...files];
}

/**
 * @param {unknown} entry of package.json, conditions inside conditions included
 * @returns {string[]} the paths in it
 */
function targets(entry) {
  if (typeof entry === 'string') return [entry];
  return Object.values(/** @type {object} */ (entry)).flatMap(targets);
}

/**
 * @param {string} name of the fixture
 * @param {string} tarball
 */
async function tryIn(name, tarball) {
  const cwd = join(folder, name);
  await cp(join(FIXTURES, name), cwd, { recursive: true });
  await cp(join(FIXTURES, 'app'), join(cwd, 'app'), { recursive: true });

  const manifest = JSON.parse(await readFile(join(cwd, 'package.json'), 'utf8'));
  manifest.dependencies['nestjs-atomic-idempotency'] = `file:${tarball}`;
  await writeFile(join(cwd, 'package.json'), JSON.stringify(manifest, null, 2));

  await run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund'], { cwd });
  await run(process.execPath, [join('node_modules', 'typescript', 'bin', 'tsc')], { cwd });
  await withFreshDatabase(async (url) => {
    const said = await run(process.execPath, [join('dist', 'main.js')], {
      cwd,
      env: { DATABASE_URL: url },
    });
    console.log(`${name}: ${said.trim()}`);
  });
}
