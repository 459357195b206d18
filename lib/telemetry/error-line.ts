import { types } from 'node:util';
import { OWN_WORDS } from './own-words.js';

/** Enough to recognise an error; a page of HTML in its message does not belong in a log. */
const LONGEST_LINE = 500;

let withholding = 0;

/**
 * Lets logs and events of this process show names and codes of errors, and not
 * their texts, which often quote what they failed on: encrypted tables are no use
 * if the log has the same data. A dead letter still has the whole text, sealed.
 *
 * @returns a function that undoes it
 */
export function withholdErrorTexts(): () => void {
  withholding += 1;
  return () => {
    withholding -= 1;
  };
}

/**
 * An error in one line, for logs: its name and the first line of its message. It
 * leaves out the error's properties, where drivers and HTTP clients keep whole
 * statements and requests with users' data. For the same reason it shows nothing
 * of a thrown value that is neither an error nor text.
 */
export function errorLine(error: unknown): string {
  try {
    return textOf(error)
      .replace(/\s*[\r\n].*$/s, '')
      .slice(0, LONGEST_LINE);
  } catch {
    // The error has a getter that throws.
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

/** Recognises errors of another realm too: in Jest, Node's own errors are of another realm. */
export function isError(error: unknown): error is Error & { code?: unknown } {
  return error instanceof Error || types.isNativeError(error);
}

function textOf(error: unknown): string {
  if (withholding > 0 && !(isError(error) && OWN_WORDS in error)) return nameOf(error);
  if (typeof error === 'string') return error;
  if (!isError(error)) {
    return error === undefined || error === null ? String(error) : `a thrown ${typeof error}`;
  }
  // Node's AggregateError (of a refused connection, for example) has no message.
  const message = error.message || (typeof error.code === 'string' ? error.code : '');
  return message === '' ? error.name : `${error.name}: ${message}`;
}

/** A code such as ECONNREFUSED or a SQLSTATE says what happened, and nothing about whom. */
function nameOf(error: unknown): string {
  if (!isError(error)) return `a thrown ${typeof error}`;
  const code = typeof error.code === 'string' && /^\w{1,40}$/.test(error.code) ? error.code : '';
  // A class of the application; an instance could carry any text as its name.
  const { name } = error.constructor;
  return `${/^\w{1,80}$/.test(name) ? name : 'Error'}${code && ` (${code})`}`;
}
