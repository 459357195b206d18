import { mkdir, writeFile } from 'node:fs/promises';
import { format } from 'prettier';
import { versionUnderTest } from '../setup/node-version.mjs';

const RESULTS = new URL('../results/', import.meta.url);

/**
 * Another Node under test than the one of the bench has results of its own.
 *
 * @param {string} name
 */
export function resultsName(name) {
  const version = versionUnderTest();
  return version === process.version ? name : `${name}-node-${parseInt(version.slice(1), 10)}`;
}

/**
 * Written the way the rest of the repository is formatted.
 *
 * @param {string} name
 * @param {{ markdown: string, json?: object, svg?: string }} contents
 */
export async function writeResults(name, { markdown, json, svg }) {
  await mkdir(RESULTS, { recursive: true });
  const write = (/** @type {string} */ ending, /** @type {string} */ text) =>
    writeFile(new URL(`${name}.${ending}`, RESULTS), text);
  await write('md', await format(markdown, { parser: 'markdown', printWidth: 100 }));
  if (json) {
    await write('json', await format(JSON.stringify(json), { parser: 'json', printWidth: 100 }));
  }
  if (svg) await write('svg', svg);
  return `bench/results/${name}.md`;
}
