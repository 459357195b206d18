import { readFile } from 'node:fs/promises';
import type { PlatformName } from '../../support/platforms.js';

const HEADING = '## The walk of a fresh request';

/**
 * The functions that CONTRIBUTING.md lists for a fresh request on this adapter, as
 * `lib/keys/recorder.ts:Recorder.record`. A line that begins with `- Express:` or
 * `- Fastify:` is for that adapter alone.
 */
export async function listedWalk(platform: PlatformName): Promise<string[]> {
  const document = new URL('../../../CONTRIBUTING.md', import.meta.url);
  const [, section] = (await readFile(document, 'utf8')).split(`${HEADING}\n`);
  if (section === undefined) throw new Error(`CONTRIBUTING.md has no "${HEADING}".`);
  const lines = section.split(/^## /m)[0]!.split('\n');
  return lines
    .filter((line) => {
      const only = /^\s+- (Express|Fastify):/.exec(line)?.[1];
      return only === undefined || only.toLowerCase() === platform;
    })
    .flatMap((line) => [...line.matchAll(/`(lib\/[^`:]+\.ts:[^`]+)`/g)].map(([, entry]) => entry!));
}

/**
 * What is wrong with a list, one sentence each. It is complete at the level of
 * files: a file whose functions were called is on it with at least one of them.
 * The functions on it stand in the order of their first calls.
 */
export function problemsOf(listed: readonly string[], calls: readonly string[]): string[] {
  const firstCalls = [...new Set(calls)];
  const called = listed.filter((entry) => firstCalls.includes(entry));
  const inOrder = firstCalls.filter((call) => listed.includes(call));
  const misplaced = called.findIndex((entry, index) => entry !== inOrder[index]);
  const listedFiles = new Set(listed.map(fileOf));
  const missing = [...new Set(firstCalls.map(fileOf))].filter((file) => !listedFiles.has(file));
  return [
    ...listed
      .filter((entry) => !firstCalls.includes(entry))
      .map((entry) => `${entry} is listed and is not called.`),
    ...missing.map(
      (file) =>
        `${file} is on the way and not listed: ${firstCalls.filter((call) => fileOf(call) === file).join(', ')}.`,
    ),
    ...(misplaced < 0
      ? []
      : [`${called[misplaced]} is listed where ${inOrder[misplaced]} is called.`]),
  ];
}

function fileOf(call: string): string {
  return call.slice(0, call.indexOf(':'));
}
