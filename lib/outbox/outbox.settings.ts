import { inspect } from 'node:util';
import { IdempotencyConfigurationError } from '../policy/configuration-error.js';
import { timerMilliseconds } from '../policy/resolve-policy.js';
import { OUTBOX_NAMES } from './outbox.options.js';
import { refuseUnknownNames } from '../policy/unknown-names.js';
import type { OutboxOptions } from './outbox.options.js';
import type { OutboxTransport } from './outbox-transport.js';

export interface OutboxSettings {
  transport: OutboxTransport | undefined;
  maxAttempts: number;
  lease: number;
  maxRunTime: number;
}

/** There are three heartbeats per lease; below this they would load the database. */
const SHORTEST_LEASE = 100;

export function resolveOutbox(where: string, options: OutboxOptions = {}): OutboxSettings {
  refuseUnknownNames(where, options, OUTBOX_NAMES, 'outbox.');
  const { transport, maxAttempts = 20, lease = '30s', maxRunTime = '5m' } = options;
  if (transport !== undefined && typeof transport?.deliver !== 'function') {
    throw new IdempotencyConfigurationError(
      `${where}: outbox.transport is ${inspect(transport, { depth: 0 })}, which has no method deliver(). ` +
        'Use microserviceTransport(client), or an object of your own with deliver(message).',
    );
  }
  if (!Number.isSafeInteger(maxAttempts) || maxAttempts < 1) {
    throw new IdempotencyConfigurationError(
      `${where}: outbox.maxAttempts is ${inspect(maxAttempts)}. Use a whole number from 1.`,
    );
  }
  const settings = {
    transport,
    maxAttempts,
    lease: timerMilliseconds(where, 'outbox.lease', lease),
    maxRunTime: timerMilliseconds(where, 'outbox.maxRunTime', maxRunTime),
  };
  if (settings.lease < SHORTEST_LEASE) {
    throw new IdempotencyConfigurationError(
      `${where}: outbox.lease is ${settings.lease} ms, which leaves no time to renew it. Use at least ${SHORTEST_LEASE} ms; seconds are usual.`,
    );
  }
  if (settings.maxRunTime === 0) {
    throw new IdempotencyConfigurationError(
      `${where}: outbox.maxRunTime is 0, so every delivery would fail. Use a time such as '5m'.`,
    );
  }
  return settings;
}
