import { Logger } from '@nestjs/common';
import type { IdempotentEntry } from '../calls/idempotent-entry.js';
import { IdempotencyConfigurationError } from '../policy/configuration-error.js';
import { ReportedOnce } from '../telemetry/reported-once.js';
import type { ReceivedMessage, RmqChannel, RmqMessage } from './received-message.js';
import type { Verdict } from './verdict.js';

/** A message that other handlers of its event are still at work on. */
interface Open {
  left: number;
  worst: Verdict;
}

const RANK = { done: 0, refused: 1, again: 2 } as const;

/** What RabbitMQ closes a channel with that settles a message it does not wait for. */
const PRECONDITION_FAILED = 406;

/** Acknowledges messages of RabbitMQ, or hands them back (`settle: true`). */
export class Settlements {
  private readonly logger = new Logger('IdempotencyModule');
  private readonly reported = new ReportedOnce();
  private readonly open = new WeakMap<RmqMessage, Open>();
  private readonly watched = new WeakSet<RmqChannel>();

  /** Before the handler: a policy that cannot take effect, or that is missing. */
  check({ rmq }: ReceivedMessage, { name, policy }: IdempotentEntry): void {
    if (policy.settle && !rmq) {
      throw new IdempotencyConfigurationError(
        `@Idempotent() of ${name}: settle acknowledges messages of RabbitMQ, and this one came by another transport. ` +
          'Name the transport in the decorator (@EventPattern(pattern, Transport.RMQ)) and give the other one a handler of its own, or remove settle.',
      );
    }
    // Without acknowledgements nothing is ever redelivered, so this server wants them.
    if (!policy.settle && rmq?.message.fields?.redelivered && this.reported.isNew(name)) {
      this.logger.error(
        `${name} got a message of RabbitMQ again, which means that messages have to be acknowledged (noAck: false). ` +
          'A duplicate does not reach the handler, so the handler cannot acknowledge it. Use @Idempotent({ settle: true }), and do not acknowledge in the handler.',
      );
    }
  }

  /** When all handlers of an event have said what is to become of it, the worst counts. */
  settle({ rmq }: ReceivedMessage, entry: IdempotentEntry, verdict: Verdict): void {
    if (!entry.policy.settle || !rmq) return;
    const { message, channel, pattern } = rmq;
    const open = this.open.get(message) ?? { left: handlersOf(entry, pattern), worst: verdict };
    if (RANK[verdict.kind] > RANK[open.worst.kind]) open.worst = verdict;
    open.left -= 1;
    this.open.set(message, open);
    if (open.left > 0) return;
    this.watch(channel, entry.name);
    if (open.worst.kind === 'again') {
      // Handed back at once, it would be here again at once. If the process ends meanwhile,
      // RabbitMQ takes it back.
      setTimeout(() => tell(channel, message, open.worst), open.worst.pause).unref();
    } else tell(channel, message, open.worst);
  }

  private watch(channel: RmqChannel, name: string): void {
    if (this.watched.has(channel)) return;
    this.watched.add(channel);
    channel.once?.('error', ({ code }) => {
      if (code !== PRECONDITION_FAILED) return;
      this.logger.error(
        `RabbitMQ closed a channel, because ${name} acknowledged a message that was not waiting for it. ` +
          'settle: true needs noAck: false in the options of the server, and a handler that does not acknowledge by itself.',
      );
    });
  }
}

function tell(channel: RmqChannel, message: RmqMessage, { kind }: Verdict): void {
  try {
    if (kind === 'done') channel.ack(message);
    else channel.nack(message, false, kind === 'again');
  } catch {
    // The channel is closed, so RabbitMQ delivers the message again, and finds it on record.
  }
}

/** How many handlers an event has here, by the pattern that it came with or a wildcard for it. */
function handlersOf({ kind, handlers }: IdempotentEntry, pattern: string): number {
  if (kind !== 'event') return 1;
  return handlers.get(pattern) ?? Math.max(...handlers.values());
}
