import { types } from 'node:util';

/** Enough to recognise an error; a page of HTML in its message does not belong into a log. */
const LONGEST_LINE = 500;

/**
 * An error in one line, for logs: its name and the first line of its message.
 * Never its members, among which drivers and HTTP clients keep whole statements
 * and requests with the data of the application's users; and for the same reason
 * nothing of what was thrown and is no error, unless it is text.
 */
export function errorLine(error: unknown): string {
  try {
    return textOf(error)
      .replace(/\s*[\r\n].*$/s, '')
      .slice(0, LONGEST_LINE);
  } catch {
    // A getter of the error's own that throws.
    return 'an error that cannot be shown';
  }
}

/** Where an error was thrown: its stack without the message, which `errorLine` shows. */
export function errorFrames(error: unknown): string | undefined {
  if (!isError(error)) return undefined;
  return error.stack
    ?.split('\n')
    .filter((line) => /^\s+at /.test(line))
    .join('\n');
}

/** Also of an error that another realm has made, as Node's own are in Jest. */
export function isError(error: unknown): error is Error & { code?: unknown } {
  return error instanceof Error || types.isNativeError(error);
}

function textOf(error: unknown): string {
  if (typeof error === 'string') return error;
  if (!isError(error)) {
    return error === undefined || error === null ? String(error) : `a thrown ${typeof error}`;
  }
  // An AggregateError of Node, for a refused connection for example, has no message.
  const message = error.message || (typeof error.code === 'string' ? error.code : '');
  return message === '' ? error.name : `${error.name}: ${message}`;
}
