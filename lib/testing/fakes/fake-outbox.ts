import type { DataSource, EntityManager } from 'typeorm';
import type { CommitWatch } from '../../outbox/commit-watch.js';
import type { OutboxHandlers } from '../../outbox/outbox-handlers.js';
import type { DeadLetterStore } from '../../outbox/dead-letter-store.js';
import type { NewMessage, OutboxStore } from '../../outbox/outbox-store.js';
import { Outbox, type OutboxMessageOptions } from '../../outbox/outbox.js';
import { fromJson } from '../../schema/json.js';
import { onRollback } from './memory/memory-transactions.js';

/** A message that the code under test has added. */
export interface FakeMessage {
  id: string;
  topic: string;
  /** After it went through JSON. */
  payload: unknown;
  orderingKey: string | undefined;
  /** In milliseconds. */
  delay: number;
}

/** Only compared with, never asked. */
const NOWHERE = {} as DataSource;

/**
 * An `Outbox` for unit tests: keeps what is added, and forgets it where the phase
 * around it fails. Messages are checked as the real one checks them.
 */
export class FakeOutbox extends Outbox {
  /** What was added and not delivered, in order. */
  readonly messages: FakeMessage[];

  constructor(private readonly handlers?: Pick<OutboxHandlers, 'handle'>) {
    const messages: FakeMessage[] = [];
    super(NOWHERE, memoryStore(messages), NO_LETTERS, NOBODY, () => undefined);
    this.messages = messages;
  }

  override add(
    tx: EntityManager,
    topic: string,
    payload?: unknown,
    options?: OutboxMessageOptions,
  ): Promise<string> {
    return super.add(inTransaction(tx), topic, payload, options);
  }

  /**
   * Hands all messages to the `@OutboxHandler()` methods of the testing module,
   * whatever their delay, also those that handlers add meanwhile. An error of a
   * handler is thrown, and its message stays.
   *
   * @returns how many were delivered
   */
  async deliver(): Promise<number> {
    const { signal } = new AbortController();
    let delivered = 0;
    for (; this.messages.length > 0; delivered++) {
      const { delay: _, ...message } = this.messages[0]!;
      await this.handlers?.handle({ ...message, attempt: 1, createdAt: new Date(), signal });
      this.messages.shift();
    }
    return delivered;
  }
}

const NO_LETTERS = {
  find: async () => [],
  scopeOf: async () => undefined,
  requeue: async () => false,
} as unknown as DeadLetterStore;
const NOBODY = { expect: () => undefined } as unknown as CommitWatch;

function memoryStore(messages: FakeMessage[]): OutboxStore {
  const store: Pick<OutboxStore, 'add'> = {
    async add(_tx, { id, topic, payload, orderingKey, delay }: NewMessage) {
      const kept = fromJson(payload);
      const message = { id, topic, payload: kept, orderingKey: orderingKey ?? undefined, delay };
      messages.push(message);
      onRollback(() => messages.splice(messages.indexOf(message), 1));
    },
  };
  return store as OutboxStore;
}

/** What the test hands to phases stands for a transaction; nothing at all does not. */
function inTransaction(tx: EntityManager | undefined): EntityManager {
  const queryRunner = tx && 'queryRunner' in tx ? tx.queryRunner : { isTransactionActive: !!tx };
  return { connection: NOWHERE, queryRunner } as EntityManager;
}
