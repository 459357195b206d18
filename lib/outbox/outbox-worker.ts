import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import { backoff } from '../background/backoff.js';
import { isConnectionLoss } from '../keys/database.js';
import { persist } from '../keys/persistence.js';
import type { ClaimedMessage, OutboxStore } from './outbox-store.js';
import type { OutboxTransport } from './outbox-transport.js';

/** How long a message belongs to a worker that gives no sign of life. Renewed while it is delivered. */
const LEASE = 30_000;

/** The first pause after a failure; doubled for each further one. */
const FIRST_PAUSE = 1_000;

/** About an hour of patience with ten attempts; longer outages are for people. */
const LONGEST_PAUSE = 15 * 60_000;

/** Claims messages and delivers them, at least once, each under its own id. */
export class OutboxWorker {
  private readonly logger = new Logger('Outbox');
  private readonly closing = new AbortController();

  constructor(
    private readonly store: OutboxStore,
    private readonly transport: OutboxTransport,
    private readonly maxAttempts: number,
    private readonly lease = LEASE,
  ) {}

  /** One batch, delivered side by side. Returns how many messages it had. */
  async run(batch: number): Promise<number> {
    const topics = this.transport.topics ?? null;
    if (topics?.length === 0) return 0;
    const token = randomUUID();
    const messages = await this.store.claim(topics, token, this.lease, batch);
    const open = new Set(messages.map((message) => message.id));
    const heartbeat = this.keepLeases(open, token);
    try {
      await Promise.all(
        messages.map((message) =>
          this.deliver(message, token).finally(() => open.delete(message.id)),
        ),
      );
    } finally {
      clearInterval(heartbeat);
    }
    return messages.length;
  }

  close(): void {
    this.closing.abort();
  }

  private keepLeases(open: ReadonlySet<string>, token: string): NodeJS.Timeout {
    return setInterval(() => {
      this.store.renew([...open], token, this.lease).catch((error: unknown) => {
        this.logger.warn(`Leases of messages could not be renewed: ${String(error)}`);
      });
    }, this.lease / 3).unref();
  }

  private async deliver(message: ClaimedMessage, token: string): Promise<void> {
    const { id, topic, payload, createdAt, attempts: attempt } = message;
    const { signal } = this.closing;
    try {
      await this.transport.deliver({ id, topic, payload, attempt, createdAt, signal });
    } catch (error) {
      return this.note(message, () =>
        this.store.failed(id, token, describe(error), this.pause(message, error)),
      );
    }
    await this.note(message, () => this.store.delivered(id, token));
  }

  /** Null: no further try. */
  private pause({ attempts, id, topic }: ClaimedMessage, error: unknown): number | null {
    if (attempts >= this.maxAttempts) {
      this.logger.error(
        `Message ${id} for "${topic}" is a dead letter after ${attempts} attempts: ${describe(error)}`,
      );
      return null;
    }
    return backoff(attempts, FIRST_PAUSE, LONGEST_PAUSE);
  }

  /** A delivery that could not be noted happens again when the lease lapses: at least once. */
  private async note(message: ClaimedMessage, statement: () => Promise<boolean>): Promise<void> {
    try {
      const ours = await persist(statement, { within: this.lease, again: isConnectionLoss });
      if (!ours) this.logger.warn(`Message ${message.id} was claimed by another worker meanwhile.`);
    } catch (error) {
      this.logger.warn(
        `The delivery of message ${message.id} could not be noted: ${String(error)}`,
      );
    }
  }
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
