import type { ClientBase } from 'pg';
import { errorLine } from '../telemetry/error-line.js';
import { errorCode } from '../postgres/database-errors.js';

/** The settings because of which the server ends a connection, and the cure for each. */
const CURES: Readonly<Record<string, string>> = {
  '25P03':
    "idle_in_transaction_session_timeout is shorter than the time that the phase's work lets pass between two statements. " +
    'Move what the work waits for out of the phase (a call to another system belongs into a foreign phase), or raise the setting.',
  '25P04':
    "transaction_timeout is shorter than the phase's transaction. Do less in one phase, or raise the setting.",
  '57P05':
    'idle_session_timeout is shorter than the time that the pool keeps an idle connection. ' +
    "Give the pool a shorter idleTimeoutMillis (TypeORM's `extra`), or raise the setting.",
};

/**
 * Notices why the server ends the connection of a transaction. The server says so
 * while no statement runs, so the next statement only learns that the connection
 * is lost.
 */
export class ConnectionWatch {
  private reason: Error | undefined;
  private client: ClientBase | undefined;

  /** Until `end()`. @param client a `ClientBase` of pg, whose types not everybody has */
  begin(client: object): void {
    this.reason = undefined;
    this.client = client as ClientBase;
    this.client.on('error', this.onError);
  }

  end(): void {
    this.client?.removeListener('error', this.onError);
    this.client = undefined;
  }

  /** Why the connection was lost, for people. @param error what the statement said */
  why(error: unknown): string {
    const reason = this.reason ?? error;
    const cure = CURES[errorCode(reason) ?? ''];
    return `${errorLine(serversWords(reason))}${cure === undefined ? '' : `. The server's ${cure}`}`;
  }

  /** Only the first error: later ones merely say that the connection is lost. */
  private readonly onError = (error: Error): void => {
    this.reason ??= error;
  };
}

/** The error of the driver, which is the cause of those of TypeORM and the store. */
function serversWords(error: unknown): unknown {
  let at = error as { driverError?: unknown; cause?: unknown };
  for (let depth = 0; depth < 5; depth++) {
    const below = at.driverError ?? at.cause;
    if (typeof below !== 'object' || below === null) break;
    at = below;
  }
  return at;
}
