import type { Dialect } from 'nestjs-atomic-idempotency';

/** Our problems in the envelope of this API. */
export const errorEnvelope: Dialect = ({ code, status, title, detail, retryable }) => ({
  status,
  headers: { 'x-error-code': code },
  body: { error: { code, message: title, detail, retryable } },
});
