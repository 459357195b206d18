/** Long enough for any error of the library's statements; longer messages quote data. */
const LONGEST = 300;

interface ErrorLike {
  message?: unknown;
  code?: unknown;
  driverError?: unknown;
  cause?: unknown;
  errors?: readonly unknown[];
}

/**
 * The message of the database, its driver or the network, without those of
 * TypeORM and this library: that of the innermost error, with its SQLSTATE or
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
