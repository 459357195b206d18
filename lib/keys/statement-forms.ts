// The statements of keys, in the forms in which they are prepared.
import { BatchStatement } from '../postgres/batch-statement.js';
import { PreparedStatement } from '../postgres/prepared-statement.js';
import {
  finishSql,
  OUTCOMES,
  OUTCOMES_AND_PHASES,
  RESERVATIONS,
  reserveAndFinishSql,
  reserveSql,
} from './key-statements.js';

/** For one key, and for many at once. */
export interface ReservingStatements {
  one: PreparedStatement;
  many: BatchStatement;
}

export function reservingStatements(
  keys: string,
  distributed: boolean,
  mayBeLost: boolean,
): ReservingStatements {
  return {
    one: new PreparedStatement(reserveSql(keys, 'one', { distributed, mayBeLost })),
    many: new BatchStatement([RESERVATIONS], (shared) =>
      reserveSql(keys, 'many', { shared, mayBeLost }),
    ),
  };
}

/** For one outcome, for many, and for many together with reservations. */
export interface FinishingStatements {
  one: PreparedStatement;
  many: BatchStatement;
  withReservations: BatchStatement;
}

/** @param phases with the outcomes of last phases */
export function finishingStatements(keys: string, phases?: string): FinishingStatements {
  const columns = phases ? OUTCOMES_AND_PHASES : OUTCOMES;
  return {
    one: new PreparedStatement(finishSql(keys, 'one', { phases })),
    many: new BatchStatement([columns], (shared) => finishSql(keys, 'many', { shared, phases })),
    withReservations: new BatchStatement([RESERVATIONS, columns], (wanted, shared) =>
      reserveAndFinishSql(keys, wanted, shared, phases),
    ),
  };
}
