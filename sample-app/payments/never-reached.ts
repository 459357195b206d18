/** The connection was never made, so not one byte of the request has left. */
const NO_CONNECTION = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** As much of an error as is looked at. */
interface Failure {
  code?: unknown;
  errors?: unknown;
  cause?: unknown;
}

/**
 * Whether an error proves that the call never reached the provider. Only then may
 * its intent be withdrawn. ECONNRESET is no such proof: the request may have been
 * carried out before the connection broke. Neither is a time-out of the call.
 */
export function neverReached(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  const { code, errors, cause }: Failure = error;
  // A host with several addresses fails with one error for each: all must agree.
  if (Array.isArray(errors) && errors.length > 0) return errors.every(neverReached);
  if (NO_CONNECTION.has(String(code))) return true;
  // fetch hides the reason: our 502 → its "fetch failed" → the error with the code.
  return neverReached(cause);
}
