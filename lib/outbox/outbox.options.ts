import type { Duration } from '../policy/duration.js';
import type { Names } from '../policy/unknown-names.js';
import type { OutboxTransport } from './outbox-transport.js';

/** How messages are delivered. How often is looked for them: `maintenance.outbox`. */
export interface OutboxOptions {
  /**
   * Takes the messages that no `@OutboxHandler()` of this process takes, such as
   * `microserviceTransport(client)`.
   * @default none
   */
  transport?: OutboxTransport;

  /**
   * How often a delivery is tried before the message is a dead letter. The pauses
   * double from one second up to a quarter of an hour: twenty attempts bear an
   * outage of about two and a half hours.
   * @default 20
   */
  maxAttempts?: number;

  /**
   * How long a message belongs to a process that gives no sign of life. Heartbeats
   * renew it, so it bounds the wait after a crash and not the length of a delivery.
   * @default '30s'
   */
  lease?: Duration;

  /**
   * How long a delivery may take. One that hangs would keep its place among
   * those that are under way; past this time it has failed.
   * @default '5m'
   */
  maxRunTime?: Duration;
}

export const OUTBOX_NAMES = {
  transport: true,
  maxAttempts: true,
  lease: true,
  maxRunTime: true,
} satisfies Names<OutboxOptions>;
