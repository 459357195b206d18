import { Logger } from '@nestjs/common';
import { errorLine } from '../telemetry/error-line.js';

/** How a statement reaches rows of several scopes. */
export interface Scopes {
  /**
   * In SQL: the row is one of those that the statement is for.
   *
   * @param parameter the number of the parameter behind all others, which `send` and `take` get as
   *   `scope`, if there is one
   */
  has(row: string, parameter: number): string;

  /** Sends a statement about these items, or one for the items of each scope. */
  each<Item extends { scope: string }, Row>(
    items: readonly Item[],
    send: (items: readonly Item[], scope: string[]) => Promise<Row[]>,
  ): Promise<Row[]>;

  /**
   * Claims rows that are due.
   *
   * @param due finds them, without a claim, where `take` cannot do that by itself
   * @param take claims up to `limit`, of those that were `found`, if they were looked for
   */
  claim<Due extends { scope: string }, Row>(
    limit: number,
    due: () => Promise<readonly Due[]>,
    take: (limit: number, scope: string[], found?: readonly Due[]) => Promise<Row[]>,
  ): Promise<Row[]>;
}

/** All tables are on one server: one statement reaches every scope. */
export const ALL_SCOPES: Scopes = {
  has: () => 'true',
  each: (items, send) => send(items, []),
  claim: (limit, _due, take) => take(limit, []),
};

/**
 * The tables are distributed by scope. A statement for one scope is sent to one
 * node, where it may lock rows and skip locked ones; a statement for several
 * scopes may not. So rows that are due are found by a read of all nodes, and
 * claimed scope by scope.
 */
export class ScopeByScope implements Scopes {
  private readonly logger = new Logger('IdempotencyModule');
  /** Those whose last statement failed come last: their node may not answer at all. */
  private readonly failed = new Set<string>();

  has(row: string, parameter: number): string {
    return `${row}.scope = $${parameter}`;
  }

  async each<Item extends { scope: string }, Row>(
    items: readonly Item[],
    send: (items: readonly Item[], scope: string[]) => Promise<Row[]>,
  ): Promise<Row[]> {
    const { rows, errors } = await this.visit(items, send);
    if (errors.length > 0) throw errors[0];
    return rows;
  }

  /** What is claimed must be worked on, even if the statement of another scope fails. */
  async claim<Due extends { scope: string }, Row>(
    limit: number,
    due: () => Promise<readonly Due[]>,
    take: (limit: number, scope: string[], found: readonly Due[]) => Promise<Row[]>,
  ): Promise<Row[]> {
    const { rows, errors } = await this.visit(await due(), (found, scope) =>
      take(Math.min(limit, found.length), scope, found),
    );
    if (errors.length === 0) return rows;
    if (rows.length === 0) throw errors[0];
    this.logger.warn(
      `What is due in ${errors.length} scope(s) could not be claimed and is tried again: ${errorLine(errors[0])}`,
    );
    return rows;
  }

  private async visit<Item extends { scope: string }, Row>(
    items: readonly Item[],
    send: (items: readonly Item[], scope: string[]) => Promise<Row[]>,
  ): Promise<{ rows: Row[]; errors: unknown[] }> {
    const rows: Row[] = [];
    const errors: unknown[] = [];
    for (const [scope, some] of this.inOrder(items)) {
      try {
        rows.push(...(await send(some, [scope])));
        this.failed.delete(scope);
      } catch (error) {
        this.failed.add(scope);
        errors.push(error);
      }
    }
    return { rows, errors };
  }

  /** In another order each time, so that two processes rarely meet at the same rows. */
  private inOrder<Item extends { scope: string }>(items: readonly Item[]): [string, Item[]][] {
    const groups = new Map<string, Item[]>();
    for (const item of items) {
      const group = groups.get(item.scope);
      if (group) group.push(item);
      else groups.set(item.scope, [item]);
    }
    const late = (scope: string) => (this.failed.has(scope) ? 1 : 0);
    return [...groups]
      .map((group) => ({ group, place: late(group[0]) + Math.random() }))
      .sort((one, other) => one.place - other.place)
      .map(({ group }) => group);
  }
}
