import { readFile } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { ROOT, run } from '../run.mjs';

/**
 * @typedef {object} Tarball
 * @property {string} path
 * @property {string[]} files what it holds
 */

const EXPECTED = [
  /^dist\/(cjs\/)?(lib|migrations)\/.+\.(js|js\.map|d\.ts)$/,
  /^(dist\/cjs\/)?package\.json$/,
  /^docs\/(?!\.vitepress\/|reference\/api\/).+\.(md|svg|png)$/,
  /^docs\/observability\/(alerts\.yml|dashboard\.json)$/,
  /^bench\/(README\.md|results\/.+\.(md|svg))$/,
  /^(README\.md|CHANGELOG\.md|LICENSE)$/,
];

/**
 * @param {string} folder
 * @param {{ built: boolean }} options built: dist is up to date, and `prepack` need not run
 * @returns {Promise<Tarball>}
 */
export async function pack(folder, { built }) {
  const printed = await run('npm', [
    'pack',
    '--json',
    '--foreground-scripts=false',
    `--ignore-scripts=${built}`,
    `--pack-destination=${folder}`,
  ]);
  const [{ filename, files }] = JSON.parse(printed);
  return {
    path: join(folder, filename),
    files: files.map((/** @type {{ path: string }} */ file) => file.path),
  };
}

/** @param {Tarball} tarball */
export async function checkTarball({ files }) {
  const strangers = files.filter(
    (path) => !EXPECTED.some((each) => each.test(path)) || path.includes('.test.'),
  );
  if (strangers.length > 0) throw new Error(`The package must not hold ${strangers.join(', ')}`);
  const missing = (await promised()).filter((path) => !files.includes(path));
  if (missing.length > 0) throw new Error(`The package lacks ${missing.join(', ')}`);
  const dead = await deadLinks(files);
  if (dead.length > 0)
    throw new Error(`Links that lead nowhere in the package: ${dead.join(', ')}`);
  console.log(`The package holds ${files.length} files, as it should, and its links lead to them.`);
}

/** @returns {Promise<string[]>} the files that a user counts on */
async function promised() {
  const { exports, main, types, typesVersions, sideEffects } = JSON.parse(
    await readFile(join(ROOT, 'package.json'), 'utf8'),
  );
  const named = targets([exports, main, types, typesVersions, sideEffects]);
  const files = named.map((file) => file.replace('./', ''));
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
 * @param {string[]} files
 * @returns {Promise<string[]>} the relative links of the documents that name no file of the package
 */
async function deadLinks(files) {
  const documents = files.filter((file) => file.endsWith('.md'));
  const found = documents.map(async (document) => {
    const text = await readFile(join(ROOT, document), 'utf8');
    return [...text.matchAll(/\]\(([^)\s]+)[^)]*\)|^\[[^\]]+\]: (\S+)|(?:href|src)="([^"]+)"/gm)]
      .map(([, inline, reference, html]) => inline ?? reference ?? html ?? '')
      .filter((link) => !/^([a-z]+:|#)/.test(link))
      .filter((link) => {
        const [path = ''] = link.split('#');
        return !files.includes(posix.join(posix.dirname(document), path));
      })
      .map((link) => `${document}: ${link}`);
  });
  return (await Promise.all(found)).flat();
}
