import { AsyncLocalStorage } from 'node:async_hooks';
import type { DataSource, EntitySubscriberInterface } from 'typeorm';
import type { Lockstep } from './lockstep.js';

/** The statements of one delivery. */
export interface WatchedStatements {
  /** The first words of each, in order. */
  seen: string[];
  /** Which one fails before it is sent; the first is 0. */
  failAt?: number | undefined;
  /** Where there are two deliveries at the same time. */
  lockstep?: Lockstep | undefined;
  /** The handler's promise has settled. */
  ended: boolean;
  /** Those that came after that. */
  late: string[];
}

/** What a statement fails with that the kit has chosen. */
export class FailedStatement extends Error {
  constructor(statement: string) {
    super(`The connection was lost before ${statement} (simulated by verifyDelivery).`);
    this.name = 'FailedStatement';
  }
}

/** Sees the statements that code sends through the data source, and lets one of them fail. */
export class StatementWatch implements EntitySubscriberInterface {
  private readonly storage = new AsyncLocalStorage<WatchedStatements>();

  install(dataSource: DataSource): () => void {
    dataSource.subscribers.push(this);
    return () => {
      const index = dataSource.subscribers.indexOf(this);
      if (index >= 0) dataSource.subscribers.splice(index, 1);
    };
  }

  async during<T>(watched: WatchedStatements, work: () => Promise<T>): Promise<T> {
    try {
      return await this.storage.run(watched, work);
    } finally {
      watched.ended = true;
      watched.lockstep?.end();
    }
  }

  /**
   * What is thrown stops the statement. TypeORM 0.3 does not wait for the promise,
   * so that two deliveries are not in step there, merely at the same time.
   */
  beforeQuery({ query }: { query: string }): Promise<void> | void {
    const watched = this.storage.getStore();
    if (!watched) return undefined;
    const statement = firstWords(query);
    if (watched.ended) {
      watched.late.push(statement);
      return undefined;
    }
    watched.seen.push(statement);
    if (watched.seen.length - 1 === watched.failAt) throw new FailedStatement(statement);
    return watched.lockstep?.meet();
  }
}

/** Without the values in it, and short enough for a heading. */
function firstWords(query: string): string {
  const words = query.trim().replace(/\s+/g, ' ').split(' ');
  return words.slice(0, 3).join(' ').slice(0, 60);
}
