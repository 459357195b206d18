import { existsSync } from 'node:fs';
import { sep } from 'node:path';

/** Deep enough for the layers of TypeORM, Nest and a client library. */
const DEPTH = 60;

const MOST_LINES = 3;

/** A place in the code, noted now and read later: to read it costs much more. */
export interface Place {
  stack?: string | undefined;
}

/** Where the running code is. */
export function here(): Place {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = DEPTH;
  try {
    return new Error('here');
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** The first line of a stack that is neither ours, nor Node's, nor a package's. */
export function userLine(place: Place | undefined): string | undefined {
  return userLines(place)[0];
}

/** The first few of them: a helper, and who has called it. */
export function userLines(place: Place | undefined): string[] {
  const lines: string[] = [];
  for (const frame of place?.stack?.split('\n') ?? []) {
    const [, file, position] = FRAME.exec(frame) ?? [];
    if (file === undefined || position === undefined || !isUsers(file)) continue;
    lines.push(`${relative(file)}:${position}`);
    if (lines.length === MOST_LINES) break;
  }
  return lines;
}

const FRAME = /^\s+at (?:.*\()?(?:async )?((?:file:\/\/)?[^()]+?):(\d+:\d+)\)?$/;

function isUsers(file: string): boolean {
  if (!/^(?:file:|[/\\]|[A-Za-z]:[/\\])/.test(file)) return false;
  if (/[/\\]node_modules[/\\]/.test(file)) return false;
  const plain = withoutScheme(file);
  // Packages with source maps name sources that they do not have with them.
  return !plain.startsWith(OWN_FOLDER) && existsSync(plain);
}

function relative(file: string): string {
  const plain = withoutScheme(file);
  const base = process.cwd() + sep;
  return plain.startsWith(base) ? plain.slice(base.length) : plain;
}

function withoutScheme(file: string): string {
  return file.replace(/^file:\/\//, '');
}

/** Of the library's files, where they are not in node_modules: `…/lib/`. */
const OWN_FOLDER = ownFolder();

function ownFolder(): string {
  const [, frame = ''] = new Error('here').stack?.split('\n') ?? [];
  const file = withoutScheme(FRAME.exec(frame)?.[1] ?? '');
  return file.replace(/testing[/\\]verdict[/\\][^/\\]+$/, '') || '\0';
}
