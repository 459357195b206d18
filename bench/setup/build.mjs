// Compiles the library and the contenders with the compiler and the options that
// the package is published with, file by file and without a type check. Not taken
// from `dist`, which may be older than the sources.
import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import ts from 'typescript';
import { isAlive } from '../../sample-app/database/is-alive.mjs';
import { places } from './places.mjs';

/**
 * Below node_modules, where git and the linter do not look, and from where
 * imports find the packages of that place first.
 *
 * @param {import('./places.mjs').Place} place
 */
export function buildFolder(place) {
  const builds = join(places[place], 'node_modules', '.cache', 'bench', String(process.pid));
  return isVariant(place) ? join(builds, place) : builds;
}

/**
 * Another form of the library than the one that lies in the root.
 *
 * @param {import('./places.mjs').Place} place
 */
function isVariant(place) {
  return place === 'before' || place === 'eventless';
}

/**
 * @param {Iterable<import('./places.mjs').Place>} wanted
 * @param {string} [ref] the commit of the place `before`
 */
export async function build(wanted, ref) {
  const options = await compilerOptions();
  for (const place of wanted) {
    const target = buildFolder(place);
    process.once('exit', () => rmSync(target, { recursive: true, force: true }));
    if (!isVariant(place)) await removeAbandoned(dirname(target));
    await compile(join(places.bench, 'contenders'), join(target, 'contenders'), options);
    if (place === 'root' || isVariant(place)) {
      const sources = place === 'before' ? await checkOut(String(ref), target) : places.root;
      await compile(join(sources, 'lib'), join(target, 'lib'), options);
      await compile(join(sources, 'migrations'), join(target, 'migrations'), options);
      if (place === 'eventless') await removeEvents(join(target, 'lib', 'telemetry'));
    }
    await writeFile(join(target, 'package.json'), JSON.stringify(await manifest(place)));
  }
}

/**
 * @param {string} ref
 * @param {string} target
 */
async function checkOut(ref, target) {
  const sources = join(target, 'sources');
  await mkdir(sources, { recursive: true });
  const archive = join(target, 'sources.tar');
  const git = ['archive', '--output', archive, ref, 'lib', 'migrations'];
  await promisify(execFile)('git', git, { cwd: places.root });
  await promisify(execFile)('tar', ['-xf', archive, '-C', sources]);
  return sources;
}

/**
 * Empties what publishes events and begins spans.
 *
 * @param {string} telemetry
 */
async function removeEvents(telemetry) {
  for (const [file, names] of /** @type {const} */ ([
    ['publish.js', ['publish', 'isObserved']],
    ['tracing.js', ['startSpan', 'currentTraceparent']],
  ])) {
    let source = await readFile(join(telemetry, file), 'utf8');
    for (const name of names) {
      const declared = `export function ${name}(`;
      if (!source.includes(declared)) throw new Error(`${file} has no function ${name}.`);
      source = source.replace(declared, `export function ${name}() {}\nfunction ${name}Before(`);
    }
    await writeFile(join(telemetry, file), source);
  }
}

/**
 * What killed runs have left behind.
 *
 * @param {string} builds
 */
async function removeAbandoned(builds) {
  for (const name of await readdir(builds).catch(() => [])) {
    if (!isAlive(Number(name))) await rm(join(builds, name), { recursive: true, force: true });
  }
}

/**
 * In a build of the library, its own name means this build.
 *
 * @param {import('./places.mjs').Place} place
 */
async function manifest(place) {
  if (place !== 'root' && !isVariant(place)) return { type: 'module' };
  const own = await readFile(join(places.root, 'package.json'), 'utf8');
  const { name, type, exports } = JSON.parse(own.replaceAll('./dist/', './'));
  // Contenders may use a part of the library that it does not export.
  return { name, type, exports, imports: { '#lib/*': './lib/*' } };
}

async function compilerOptions() {
  const file = join(places.root, 'tsconfig.json');
  const { config } = ts.readConfigFile(file, ts.sys.readFile);
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, places.root);
  // One file alone does not show that its package consists of ES modules.
  return { ...options, module: ts.ModuleKind.ESNext, declaration: false };
}

/**
 * @param {string} from
 * @param {string} to
 * @param {import('typescript').CompilerOptions} options
 */
async function compile(from, to, options) {
  for (const file of await readdir(from, { recursive: true })) {
    if (!file.endsWith('.ts')) continue;
    const source = await readFile(join(from, file), 'utf8');
    const { outputText } = ts.transpileModule(source, { compilerOptions: options, fileName: file });
    const target = join(to, file.replace(/\.ts$/, '.js'));
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, outputText);
  }
}
