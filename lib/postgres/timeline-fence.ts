import type { Socket } from 'node:net';
import { callbackify, promisify } from 'node:util';
import { Logger } from '@nestjs/common';
import type { ClientBase, Pool } from 'pg';
import { BurstLog } from '../telemetry/burst-log.js';
import { serverState, type ServerState } from './server-queries.js';
import { Timelines } from './timelines.js';

const NO_ANSWER = 'Connection terminated: the server did not tell its timeline.';

/** A hook of pg's pool for each new connection, which its types leave out. */
type Verify = (client: ClientBase, done: (error?: Error | null) => void) => void;

/**
 * Keeps the pool away from a primary that was replaced. Each new connection is
 * asked for its timeline, before anybody uses it; one with a lower timeline than
 * the highest that was seen is refused. When a promotion becomes known, older
 * connections are closed. Requests cost nothing: only a new connection is asked.
 *
 * A server that does not tell its timeline (some managed ones keep no log files)
 * is accepted.
 */
export class TimelineFence {
  private readonly logger = new Logger('IdempotencyModule');
  private readonly refusals = new BurstLog((line) => this.logger.error(line));
  private readonly states = new Map<ClientBase, ServerState>();
  private timelines = new Timelines();
  private pool: Pool | undefined;
  private undo: (() => void) | undefined;

  /** @param timeout how long a server may take to answer, in milliseconds */
  constructor(private readonly timeout: number) {}

  install(pool: Pool | undefined): void {
    if (!pool) return;
    this.pool = pool;
    const options = pool.options as { verify?: Verify; Client?: { timelines?: Timelines } };
    // What `severalHosts()` learns about its hosts counts as well.
    this.timelines = options.Client?.timelines ?? this.timelines;
    const { verify: before } = options;
    const others = before && promisify(before);
    options.verify = callbackify(async (client: ClientBase) => {
      await this.admit(client);
      await others?.(client);
    });
    const forget = this.timelines.onPromotion(() => this.closeReplaced());
    this.undo = () => {
      forget();
      if (before) options.verify = before;
      else delete options.verify;
    };
  }

  uninstall(): void {
    this.undo?.();
    this.states.clear();
  }

  /** A connection that the pool had before, from when the data source was opened. */
  async checkOpenConnection(): Promise<void> {
    // Without an idle one, the next connection is new, and is asked anyway.
    if (!this.pool?.idleCount) return;
    const client = await this.pool.connect();
    let refusal: Error | undefined;
    try {
      if (!this.states.has(client)) await this.admit(client);
    } catch (error) {
      refusal = error as Error;
      throw error;
    } finally {
      client.release(refusal);
    }
  }

  private async admit(client: ClientBase): Promise<void> {
    const timer = setTimeout(() => destroy(client, NO_ANSWER), this.timeout);
    const state = await serverState(client).catch(() => undefined);
    clearTimeout(timer);
    if (!state) return;
    this.timelines.note(state);
    if (this.timelines.isReplaced(state)) throw this.refused(state);
    this.states.set(client, state);
    client.once('end', () => this.states.delete(client));
  }

  private closeReplaced(): void {
    for (const [client, state] of this.states) {
      if (this.timelines.isReplaced(state)) destroy(client, this.refused(state).message);
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
