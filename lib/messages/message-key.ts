import { hash } from 'node:crypto';
import { IdempotencyProblem } from '../answers/problems.js';
import type { ResolvedPolicy } from '../policy/resolve-policy.js';
import { givenKey } from '../request/given-key.js';
import { LONGEST_KEY, readKey } from '../request/key-header.js';
import { cloudEventOf } from './cloud-event.js';
import { isOutboxEnvelope, OUTBOX_ID_HEADER } from './outbox-envelope.js';
import type { ReceivedMessage } from './received-message.js';

/**
 * What names a message for good, over all its deliveries: what the policy says, or the
 * first of these. Never an offset or a delivery tag, which name a place and not a
 * message: the same event that is published twice has two of them.
 *
 * @param header the name of the module's header
 */
export function messageKey(
  message: ReceivedMessage,
  policy: ResolvedPolicy,
  header: string,
): string | undefined {
  if (policy.key) return givenKey(policy.key(message.payload, message.context));
  const { headers, payload } = message;
  const event = cloudEventOf(message);
  if (event) return fitting(JSON.stringify([event.source, event.id]));
  const own = message.messageId ?? headers.get('nats-msg-id');
  if (own !== undefined) return fitting(own);
  const given = readKey({ headers: Object.fromEntries(headers) }, header);
  if (given !== undefined) return given;
  const outbox = headers.get(OUTBOX_ID_HEADER.toLowerCase());
  return fitting(outbox ?? (isOutboxEnvelope(payload) ? payload.id : undefined));
}

/** @param policy whether it has a `key` of its own */
export function messageKeyMissing({ key }: ResolvedPolicy, header: string): IdempotencyProblem {
  const where = key
    ? 'The key of this operation is taken from the message itself, in which it is missing.'
    : `The message has nothing that names it over all its deliveries: no source and id of CloudEvents, no messageId of AMQP, no Nats-Msg-Id, no ${header} header and no id of the outbox.`;
  return new IdempotencyProblem('key_missing', where);
}

/** An id of a message may be longer than a key. */
function fitting(id: string | undefined): string | undefined {
  return givenKey(
    id !== undefined && id.length > LONGEST_KEY ? `sha256:${hash('sha256', id)}` : id,
  );
}
