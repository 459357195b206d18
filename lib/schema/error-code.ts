/**
 * Every value of `last_error_code`, with what it means: why the last attempt
 * ended without a final answer, or what has been done to the key since. It is for
 * people. No statement branches on it: what a statement needs to know is a status
 * or a column.
 */
export interface ErrorCodes {
  /** A foreign call was begun, and no outcome was recorded. */
  in_doubt: never;
  /** The same, and the other system has forgotten the effect key, so the call may not be repeated. */
  effect_key_forgotten: never;
  /** The attempt of a plain handler died before it recorded a phase. */
  abandoned: never;
  /** The attempt died, and a retry or the completer resumes at the last recovery point. */
  attempt_died: never;
  /** A pipe or an interceptor refused a retry before the handler began. */
  handler_not_begun: never;
  /** A worker's attempt at the operation failed; another one follows. */
  operation_failed: never;
  /** Workers have tried the operation the maximum number of times. */
  attempts_exhausted: never;
  /** The reconciler has asked the maximum number of times; the key is left to people. */
  reconciliation_exhausted: never;
  /** Past its retention; the completer makes a last attempt. */
  overdue: never;
  /** Past its retention, and nobody finished it: closed with 408. */
  unfinished: never;
  /** A person asked for another round of the completer's attempts. */
  retry_requested: never;
  /** A person decided that the key may run again. */
  resolved: never;
  /** The call in doubt was resolved: it took effect. */
  phase_reconciled: never;
  /** The call in doubt was resolved: the other system rejected it. */
  phase_rejected: never;
  /** The call in doubt was resolved: it never took effect. */
  phase_withdrawn: never;
}

/** The handler's answer was not final; the code names its status, such as `http_503`. */
type HttpErrorCode = `http_${number}`;

export type ErrorCode = keyof ErrorCodes | HttpErrorCode;

/** A code as an SQL literal; the compiler checks its name. */
export function sqlCode(code: keyof ErrorCodes): string {
  return `'${code}'`;
}
