// How a worker of the tests loads modules: see runtime.mjs.
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { transform } from '@swc/core';
import { swcOptions } from '../swc-options.mjs';

const ROOT = new URL('../../../', import.meta.url).href;
const TESTS = `${ROOT}test/`;
const SAMPLE = `${ROOT}sample-app/`;
const HERE = new URL('./', import.meta.url).href;
const GLOBALS = new URL('./globals.mjs', import.meta.url).href;

/** The package by its own name, from source: no build between edit and test. */
const OWN = new Map(
  Object.entries({
    'nestjs-atomic-idempotency': 'lib/index.ts',
    'nestjs-atomic-idempotency/client': 'lib/client/index.ts',
    'nestjs-atomic-idempotency/client/file': 'lib/client/file.ts',
    'nestjs-atomic-idempotency/migrations': 'migrations/index.ts',
    'nestjs-atomic-idempotency/opentelemetry': 'lib/opentelemetry/index.ts',
    'nestjs-atomic-idempotency/testing': 'lib/testing/index.ts',
  }).map(([name, file]) => [name, ROOT + file]),
);

/** @type {import('node:module').ResolveHook} */
export async function resolve(specifier, context, nextResolve) {
  const parent = context.parentURL ?? '';
  if (specifier === '@jest/globals') return found(GLOBALS + ofTest(parent));
  const [name = '', copy] = specifier.split('?');
  const own = OWN.get(name);
  if (own !== undefined) return found(copy === undefined ? own : `${own}?${copy}`);
  if (!specifier.startsWith('.') || !parent.startsWith(ROOT) || isInstalled(parent)) {
    return nextResolve(specifier, context);
  }
  // TypeScript's ESM imports name the compiled file.
  const url = new URL(specifier.replace(/(?<!\.m)\.js(?=$|\?)/, '.ts'), parent).href;
  if (url.includes('?')) return found(url);
  return found(url + (isOfTest(url) ? ofTest(parent) : copyOf(parent)));
}

/** @type {import('node:module').LoadHook} */
export async function load(url, context, nextLoad) {
  const { href } = Object.assign(new URL(url), { search: '' });
  if (!href.endsWith('.ts') || !href.startsWith(ROOT) || isInstalled(href)) {
    return nextLoad(url, context);
  }
  return { format: 'module', source: await compiled(fileURLToPath(href)), shortCircuit: true };
}

/**
 * What the test files of a worker have in common is compiled once, though it is loaded for
 * each of them.
 *
 * @type {Map<string, Promise<string>>}
 */
const sources = new Map();

/** @param {string} file */
function compiled(file) {
  const known = sources.get(file) ?? compile(file);
  sources.set(file, known);
  return known;
}

/** @param {string} file */
async function compile(file) {
  const source = await readFile(file, 'utf8');
  const { code } = await transform(source, { ...swcOptions, filename: file });
  return code;
}

/** @param {string} url */
function found(url) {
  return { url, shortCircuit: true };
}

/** @param {string} url */
function isInstalled(url) {
  return url.includes('/node_modules/');
}

/**
 * What belongs to a test file is loaded for each of them, because it may call `afterAll()`
 * or keep something for the file. So is the sample, whose decorators tell Nest about its
 * entities, which Nest has forgotten by the next file.
 *
 * @param {string} url
 */
function isOfTest(url) {
  return (url.startsWith(TESTS) && !url.startsWith(HERE)) || url.startsWith(SAMPLE);
}

/** @param {string} parent */
function ofTest(parent) {
  const { search, href } = new URL(parent);
  return search || `?for=${href.slice(TESTS.length).replace(/(\.test)?\.ts$/, '')}`;
}

/**
 * A test that imports `…?copy` gets another copy of that module and of all that it imports.
 *
 * @param {string} parent
 */
function copyOf(parent) {
  const { search } = new URL(parent);
  return search.startsWith('?copy') ? search : '';
}
