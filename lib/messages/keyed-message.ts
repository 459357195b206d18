import { Logger } from '@nestjs/common';
import { IdempotencyProblem } from '../answers/problems.js';
import type { IdempotentEntry } from '../calls/idempotent-entry.js';
import { customFingerprint } from '../request/fingerprint.js';
import { keptRequest } from '../request/kept-request.js';
import type { KeyedRequest } from '../request/request-reader.js';
import { scopeOf } from '../request/scope.js';
import type { Observation } from '../telemetry/observation.js';
import { cloudEventOf } from './cloud-event.js';
import { isOutboxEnvelope } from './outbox-envelope.js';
import type { ReceivedMessage } from './received-message.js';

const logger = new Logger('IdempotencyModule');

/**
 * A message as the keys know it. The handler is part of it: Nest hands an event to
 * every handler of its pattern, and each has a record of its own.
 */
export async function keyedMessage(
  key: string,
  message: ReceivedMessage,
  { kind, name, patterns, policy }: IdempotentEntry,
  observed: Observation,
): Promise<KeyedRequest> {
  const { payload, context } = message;
  const method = kind.toUpperCase();
  const compared = policy.fingerprint
    ? await policy.fingerprint(payload, context)
    : contentOf(message);
  return {
    scope: await messageScope(message, name, policy.scope),
    endpoint: `${method} ${name}`,
    key,
    fingerprint: customFingerprint({ method, route: name, params: {} }, compared),
    observed,
    summarise: () => ({
      method,
      route: name,
      path: patterns.join(', '),
      kept: keptRequest(policy.keepRequest, payload, payload),
    }),
  };
}

/**
 * The module's `scope` reads HTTP requests, so it is not asked about messages. Without
 * one of its own, a handler has one scope: its messages come from those who may write
 * to its queue, and their ids are meant to be unique.
 */
async function messageScope(
  { payload, context }: ReceivedMessage,
  name: string,
  scope: IdempotentEntry['policy']['scope'] = 'global',
): Promise<string> {
  if (scope === 'global') return '';
  return scopeOf(await scope(payload, context), (fault) => {
    logger.error(
      `The scope of ${name} returned ${fault}, so the message was refused: without a scope one sender could receive the result of another. ` +
        "Return a stable, non-empty string or a whole number, or use scope: 'global' if all messages come from one sender.",
    );
    throw new IdempotencyProblem(
      'scope_missing',
      'The receiver could not tell whose message this is, so it did not process it.',
    );
  });
}

/** What a further delivery of a message has to repeat of its payload. */
function contentOf(message: ReceivedMessage): unknown {
  const event = cloudEventOf(message);
  if (event) return event.content;
  const { payload } = message;
  // Our outbox counts its deliveries in the message.
  return isOutboxEnvelope(payload) ? [payload.id, payload.topic, payload.payload ?? null] : payload;
}
