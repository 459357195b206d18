/** No statement of ours has more to say; what is longer quotes data. */
const LONGEST = 300;

interface ErrorLike {
  message?: unknown;
  code?: unknown;
  driverError?: unknown;
  cause?: unknown;
  errors?: readonly unknown[];
}

/**
 * What the database, its driver or the network said, below the words of TypeORM
 * and of this library: the message of the innermost error, and its SQLSTATE or
 * system code. It tells missing rights (42501) from a standby (25006).
 */
export function databaseWords(error: unknown): string {
  let message = '';
  let code: string | undefined;
  for (let at = error, depth = 0; isError(at) && depth < 10; at = innerOf(at), depth++) {
    if (typeof at.message === 'string' && at.message !== '') message = at.message;
    if (typeof at.code === 'string') code = at.code;
  }
  const words = (message || String(error)).replace(/\s+/g, ' ').slice(0, LONGEST);
  return code === undefined ? words : `${words} (${code})`;
}

function isError(value: unknown): value is ErrorLike {
  return typeof value === 'object' && value !== null;
}

/** Node reports a host with several addresses as a list of errors without a message of its own. */
function innerOf({ driverError, cause, errors }: ErrorLike): unknown {
  return driverError ?? cause ?? errors?.[0];
}
