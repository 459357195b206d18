import type { ClientBase } from 'pg';
import { endStatement } from './statement-cancellation.js';

/** The progress of a statement, and whether anybody still waits for it. */
export class Progress {
  givenUp = false;
  /** Known when the statement is about to be sent. */
  client: ClientBase | undefined;
  private cancelled: Promise<void> | undefined;
  private ended: AbortController | undefined;

  giveUp(): void {
    this.givenUp = true;
    if (!this.client) return;
    this.ended = new AbortController();
    this.cancelled = endStatement(this.client, this.ended.signal);
  }

  /** The statement has ended. The returned promise settles when its cancellation has ended too. */
  over(): Promise<void> | undefined {
    this.ended?.abort();
    return this.cancelled;
  }
}
