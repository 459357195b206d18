import type { Duration } from '../policy/duration.js';
import type { Names } from '../policy/unknown-names.js';
import type { OutboxTransport } from './outbox-transport.js';

/** How messages are delivered. `maintenance.outbox` says how often the worker looks for them. */
export interface OutboxOptions {
  /**
   * Takes the messages that no `@OutboxHandler()` of this process takes, such as
   * `microserviceTransport(client)`.
   * @default none
   */
  transport?: OutboxTransport;

  /**
   * How often a delivery is tried before the message is a dead letter. The pauses
   * double from one second up to a quarter of an hour: twenty attempts cover an
   * outage of about two and a half hours.
   * @default 20
   */
  maxAttempts?: number;

  /**
   * How long a message stays with a process that sends no heartbeats. Heartbeats
   * renew it, so it bounds the wait after a crash and not the length of a
   * delivery.
   * @default '30s'
   */
  lease?: Duration;

  /**
   * How long a delivery may take. A delivery that takes longer has failed;
   * otherwise one that hangs would occupy the worker.
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
