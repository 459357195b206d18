import { randomUUID } from 'node:crypto';
import type { DataSource, EntityManager, QueryRunner } from 'typeorm';
import { parseDuration, type Duration } from '../policy/duration.js';
import { fromJson, toJson } from '../schema/json.js';
import { requestContext } from '../phases/request-context.js';
import { currentTraceparent } from '../telemetry/tracing.js';
import { PhaseUsageError } from '../policy/phase-errors.js';
import { actorOf, type By } from '../resolution/operator-result.js';
import type { CommitWatch } from './commit-watch.js';
import type { DeadLetterStore } from './dead-letter-store.js';
import type { OutboxStore } from './outbox-store.js';

export interface OutboxMessageOptions {
  /**
   * Messages with the same ordering key are delivered one after another, in the
   * order in which they were committed; transactions that add for the same key
   * wait for each other. A message that fails, or is delayed, holds back those
   * behind it, and no others.
   */
  orderingKey?: string;
  /** The message is not delivered before this time has passed. */
  delay?: Duration;
}

/** A message that is not delivered any more until somebody requeues it. */
export interface DeadLetter {
  /** The scope of the request that added it; empty outside a request. */
  scope: string;
  id: string;
  /** The key of that request, for `IdempotencyOperator.inspect()`; the key may be gone by now. */
  keyId: string | undefined;
  topic: string;
  payload: unknown;
  orderingKey: string | undefined;
  attempts: number;
  /** Why its last delivery failed. */
  lastError: string;
  createdAt: Date;
  deadAt: Date;
}

/** Which dead letters to find. All of it must hold; with nothing given, every one is found. */
export interface DeadLetterQuery {
  topic?: string;
  ids?: readonly string[];
  /** @default 100 */
  limit?: number;
}

/** Longer ordering keys do not fit into the index that finds the first message of a key. */
const LONGEST_ORDERING_KEY = 1_000;

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Messages that are sent if, and only if, your transaction commits. Add them in a
 * local phase or in any other TypeORM transaction; `@OutboxHandler(topic)`
 * methods get them afterwards, at least once.
 */
export class Outbox {
  constructor(
    private readonly dataSource: DataSource,
    private readonly store: OutboxStore,
    private readonly letters: DeadLetterStore,
    private readonly commits: CommitWatch,
    private readonly wake: () => void,
  ) {}

  /**
   * @param payload JSON, at most 1 MiB
   * @returns the message's id, the same in all its deliveries
   */
  async add(
    tx: EntityManager,
    topic: string,
    payload?: unknown,
    options: OutboxMessageOptions = {},
  ): Promise<string> {
    if (typeof topic !== 'string' || topic === '') {
      // The value is not shown: it may be a payload, passed by mistake.
      throw new PhaseUsageError(
        `A message was added with ${topic === '' ? 'an empty string' : `a value of type ${typeof topic}`} as its topic. Pass a non-empty string as the topic, and the payload after it.`,
      );
    }
    const what = `A message for ${JSON.stringify(topic)}`;
    const queryRunner = this.transactionOf(tx, what);
    const id = randomUUID();
    // Before the statement: if the transaction ends meanwhile, the worker is woken once for
    // nothing.
    this.commits.expect(queryRunner);
    const attempt = requestContext.current?.attempt;
    await this.store.add(tx, {
      scope: attempt?.scope ?? '',
      id,
      keyId: attempt?.id,
      topic,
      payload: toJson(payload, `The payload of a message for "${topic}"`),
      orderingKey: orderingKeyOf(options, what),
      delay: delayOf(options, what),
      traceparent: currentTraceparent(),
      cipher: attempt?.cipher,
    });
    return id;
  }

  /** Messages whose deliveries failed too often, in the order in which they were given up. */
  async deadLetters(find: DeadLetterQuery = {}): Promise<DeadLetter[]> {
    const { topic = null, ids, limit = 100 } = find;
    // Only a UUID can be the id of a message; PostgreSQL would refuse anything else.
    const uuids = ids ? ids.filter((id) => UUID.test(id)) : null;
    const letters = await this.letters.find(topic, uuids, limit);
    return letters.map((letter) => ({
      scope: letter.scope,
      id: letter.id,
      keyId: letter.keyId ?? undefined,
      topic: letter.topic,
      payload: letter.fault
        ? `(cannot be read: ${letter.fault.reason})`
        : fromJson(letter.payload ?? undefined),
      orderingKey: letter.orderingKey ?? undefined,
      attempts: letter.attempts,
      lastError: letter.lastError,
      createdAt: letter.createdAt,
      deadAt: letter.deadAt,
    }));
  }

  /**
   * Gives a dead letter another round of deliveries, under the same id, at the
   * end of its ordering key. False where there is no dead letter with this id.
   *
   * @param by who decided it, and why: both go into the audit
   */
  async requeue(id: string, by: Omit<Exclude<By, string>, 'seen'> | string): Promise<boolean> {
    const actor = actorOf(by);
    if (!actor) {
      throw new PhaseUsageError(
        "outbox.requeue() was not told who decides it, and the audit needs a name. Use requeue(id, 'a name') or requeue(id, { who, why }).",
      );
    }
    if (!UUID.test(id)) return false;
    const seen = await this.letters.seen(id);
    const requeued = seen !== undefined && (await this.letters.requeue(seen, actor));
    if (requeued) this.wake();
    return requeued;
  }

  private transactionOf(tx: EntityManager, what: string): QueryRunner {
    if (tx.connection !== this.dataSource) {
      throw new PhaseUsageError(
        `${what} was added to a data source other than that of the IdempotencyModule, where no worker would find it. ` +
          'Use a transaction of the data source that the module is configured with.',
      );
    }
    if (!tx.queryRunner?.isTransactionActive) {
      throw new PhaseUsageError(
        `${what} was added without a transaction, so it could be sent although the work it reports fails. ` +
          'Pass the tx of a local phase, or the manager of dataSource.transaction().',
      );
    }
    return tx.queryRunner;
  }
}

function orderingKeyOf({ orderingKey }: OutboxMessageOptions, what: string): string | null {
  if (orderingKey === undefined) return null;
  const text: unknown = orderingKey;
  if (typeof text !== 'string' || text === '' || Buffer.byteLength(text) > LONGEST_ORDERING_KEY) {
    throw new PhaseUsageError(
      `${what} has an orderingKey that is not a string of 1 to ${LONGEST_ORDERING_KEY} bytes. ` +
        'Use the id of what the messages are about, or leave it out.',
    );
  }
  return text;
}

function delayOf({ delay = 0 }: OutboxMessageOptions, what: string): number {
  const milliseconds = parseDuration(delay);
  if (milliseconds === undefined) {
    throw new PhaseUsageError(
      `${what} has the delay ${JSON.stringify(delay)}, which is not a duration. Use milliseconds or text such as '5m'.`,
    );
  }
  return milliseconds;
}
