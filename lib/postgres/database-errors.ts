// How to tell errors of the database, its driver and the network apart.

/** The SQLSTATE or the system's error code behind an error of TypeORM, pg or Node. */
export function errorCode(error: unknown): string | undefined {
  return withCode(error)?.code as string | undefined;
}

function withCode(error: unknown): ErrorLike | undefined {
  for (let at = error as ErrorLike | undefined, depth = 0; at && depth < 5; depth++) {
    if (typeof at.code === 'string') return at;
    at = at.driverError ?? at.cause;
  }
  return undefined;
}

interface ErrorLike {
  code?: unknown;
  /** Of an error that the server has sent. */
  severity?: unknown;
  driverError?: ErrorLike;
  cause?: ErrorLike;
}

/**
 * The connection has no prepared statement of this name, or has one already: a
 * proxy gives each transaction another connection. Or the table was altered. In
 * any case the statement was not executed.
 */
export function isUnprepared(error: unknown): boolean {
  const code = errorCode(error);
  return code === '26000' || code === '42P05' || code === '0A000';
}

/** A statement that ends in `oneRowOrError()` has found no row, and nothing of it is kept. */
export function foundNoRow(error: unknown): boolean {
  return errorCode(error) === '22012';
}

/** There is a row with this key already, and nothing of the statement is kept. */
export function foundDuplicate(error: unknown): boolean {
  return errorCode(error) === '23505';
}

/** A row stayed locked for longer than the library's statements wait. */
export function isLockTimeout(error: unknown): boolean {
  return errorCode(error) === '55P03';
}

/** Two transactions conflicted; the one that failed has done nothing and may run again. */
export function isSerializationConflict(error: unknown): boolean {
  const code = errorCode(error);
  return code === '40001' || code === '40P01';
}

/**
 * The server accepts no writes: a standby that may be promoted in a moment, or a
 * server that was replaced as the primary. The statement did nothing.
 */
export function isReadOnlyServer(error: unknown): boolean {
  return errorCode(error) === '25006';
}

/**
 * The connection broke, or the server is stopping, starting or waiting for its
 * promotion. Whether the statement took effect is not known, so only statements
 * that recognise their own earlier success may be repeated.
 */
export function isConnectionLoss(error: unknown): boolean {
  const code = errorCode(error);
  if (code !== undefined) {
    // 25P03 and 25P04: the server ended a session whose transaction took too long. Class 53: it has
    // no free connection or other resource at the moment.
    return (
      isReadOnlyServer(error) ||
      /^(08|25P03|25P04|53|57P0)/.test(code) ||
      /^(ECONN|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)/.test(code)
    );
  }
  // pg reports a broken connection without a code, and also a pool that had none in time; and
  // TypeORM releases the runner of a connection that breaks between two statements.
  for (let at = error as Error | undefined, depth = 0; at && depth < 5; depth++) {
    if (
      /connection (terminated|ended|error)|client (has encountered a connection error|was closed)|timeout exceeded when trying to connect|^timeout expired$/i.test(
        at.message,
      ) ||
      at.name?.endsWith('AlreadyReleasedError')
    ) {
      return true;
    }
    at = (at as { driverError?: Error }).driverError ?? (at.cause as Error | undefined);
  }
  return false;
}

/**
 * The server has refused the statement, so nothing of it is kept. Not by an internal error: a
 * server that fails while it commits may find the commit in its log when it is back.
 */
export function isRefusal(error: unknown): boolean {
  if (isReadOnlyServer(error)) return true;
  const found = withCode(error);
  if (found?.severity === undefined || isConnectionLoss(error)) return false;
  return !/^(58|XX)/.test(found.code as string);
}

/**
 * A coordinator could not reach the node that has the rows. It said so itself,
 * which a server that is down cannot do; other rows are on other nodes.
 */
export function isLossOfNode(error: unknown): boolean {
  const found = withCode(error);
  return found?.severity !== undefined && String(found.code).startsWith('08');
}

/** Whether a statement failed, rather than anything else that has an error code. */
export function isOfDatabase(error: unknown): boolean {
  for (let at = error as ErrorLike | undefined, depth = 0; at && depth < 5; depth++) {
    if (at.driverError) return true;
    at = at.cause;
  }
  return false;
}
