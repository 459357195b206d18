import type { Socket } from 'node:net';
import { Logger } from '@nestjs/common';
import type { ClientBase, Pool } from 'pg';
import { BurstLog } from '../telemetry/burst-log.js';
import { askServerState, type ServerState } from './server-queries.js';
import { Timelines } from './timelines.js';

const NO_ANSWER = 'Connection terminated: the server did not tell its timeline.';

/** A hook of pg's pool for each new connection, which its types leave out. */
type Verify = (client: ClientBase, done: (error?: Error) => void) => void;

/**
 * Keeps the pool away from a primary that was replaced. Each new connection is
 * asked for its timeline, before anybody uses it; one with a lower timeline than
 * the highest that was seen is refused. When a promotion becomes known, older
 * connections are closed.
 *
 * Requests cost nothing, because a timeline that is known stays what it is. Only a
 * connection without one is asked again, each time it is taken from the pool: its
 * server was a standby, which may have been promoted since.
 *
 * A server that does not tell its timeline (some managed ones keep no log files)
 * is accepted.
 */
export class TimelineFence {
  private readonly logger = new Logger('IdempotencyModule');
  private readonly refusals = new BurstLog((line) => this.logger.error(line));
  /** Undefined: it has not answered yet, or its server does not tell. */
  private readonly states = new Map<ClientBase, ServerState | undefined>();
  private timelines = new Timelines();
  private undo: (() => void) | undefined;

  /** @param timeout how long a server may take to answer, in milliseconds */
  constructor(private readonly timeout: number) {}

  install(pool: Pool | undefined): void {
    if (!pool) return;
    const options = pool.options as { verify?: Verify; Client?: { timelines?: Timelines } };
    // What `severalHosts()` learns about its hosts counts as well.
    this.timelines = options.Client?.timelines ?? this.timelines;
    const { verify: before } = options;
    options.verify = (client, done) =>
      this.admit(client, (refusal) => {
        if (refusal || !before) done(refusal);
        else before(client, done);
      });
    const forget = this.timelines.onPromotion(() => this.closeReplaced());
    this.watch(pool);
    this.undo = () => {
      forget();
      pool.off('connect', this.met).off('acquire', this.taken);
      if (before) options.verify = before;
      else delete options.verify;
    };
  }

  /** A pool with the options of the one above, `verify` included. */
  watch(pool: Pool): void {
    pool.on('connect', this.met).on('acquire', this.taken);
  }

  uninstall(): void {
    this.undo?.();
    this.states.clear();
  }

  /** A new connection: `verify` is about to ask it. */
  private readonly met = (client: ClientBase): void => {
    this.states.set(client, undefined);
    client.once('end', () => this.states.delete(client));
  };

  /**
   * A connection whose server was a standby, or that is older than this fence, is
   * asked now. What it was taken for is sent afterwards: the driver sends one
   * statement at a time.
   */
  private readonly taken = (client: ClientBase): void => {
    if (!this.states.has(client)) this.met(client);
    else if (this.states.get(client)?.timeline !== null) return;
    this.admit(client, (refusal) => {
      if (refusal) destroy(client, refusal.message);
    });
  };

  private admit(client: ClientBase, done: (refusal?: Error) => void): void {
    const timer = setTimeout(() => destroy(client, NO_ANSWER), this.timeout);
    askServerState(client, (state) => {
      clearTimeout(timer);
      if (!state) return done();
      this.timelines.note(state);
      if (this.timelines.isReplaced(state)) return done(this.refused(state));
      // Not of a connection that has ended meanwhile.
      if (this.states.has(client)) this.states.set(client, state);
      done();
    });
  }

  private closeReplaced(): void {
    for (const [client, state] of this.states) {
      if (state && this.timelines.isReplaced(state)) destroy(client, this.refused(state).message);
    }
  }

  /** The message begins like that of a lost connection, because another one may lead to the primary. */
  private refused({ timeline }: ServerState): Error {
    this.refusals.note(
      'old primary',
      () =>
        `A database server with timeline ${timeline} accepts writes, although another server of its cluster was promoted after it. Nothing is written to it. Stop the old primary; if it was restored on purpose, restart this process.`,
    );
    return new Error(
      `Connection terminated: the server has timeline ${timeline}, and another one was promoted after it.`,
    );
  }
}

/** Whoever uses the connection gets the error, and the pool forgets it. */
function destroy(client: ClientBase, reason: string): void {
  const { connection } = client as ClientBase & { connection?: { stream?: Socket } };
  connection?.stream?.destroy(new Error(reason));
}
