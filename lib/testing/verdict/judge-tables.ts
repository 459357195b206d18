import type { RunResult } from '../runs/run-result.js';
import { OUTBOX } from '../world/changes-store.js';
import type { Change } from '../world/changes.js';
import type { Statement } from '../world/statements.js';
import type { TableBaseline, TableDifference } from '../world/table-baseline.js';
import type { ProblemCode } from './cures.js';
import type { Finding } from './finding.js';

/** Whether the run changed the tables as an undisturbed one does. */
export function judgeTables(result: RunResult, baseline: TableBaseline<Change>): Finding[] {
  return baseline.compare(result.changes).flatMap((difference) => {
    // What is not finished may lack something; it must not have done anything twice.
    const missing = result.outcome === 'final' ? difference.missing : [];
    const { extra } = difference;
    if (extra.length === 0 && missing.length === 0) return [];
    if (result.outcome !== 'final' && extra.length <= difference.missing.length) return [];
    return [findingOf({ ...difference, missing }, result, baseline)];
  });
}

function findingOf(
  difference: TableDifference<Change>,
  { changes, record }: RunResult,
  baseline: TableBaseline<Change>,
): Finding {
  const { table, extra, missing } = difference;
  const involved = extra.length > 0 ? extra : missing;
  const stray = involved
    .concat(changes.filter((change) => change.table === table))
    .map(({ statement }) => statement)
    // The guards do not know messages, so all that is wrong with one is told here.
    .find((statement) => statement && table !== OUTBOX && codeOf(statement) !== undefined);
  const statement = stray ?? involved.map((change) => change.statement).find(Boolean);
  const code = stray && codeOf(stray);
  return {
    code: code ?? (table === OUTBOX ? 'messages_differ' : 'rows_differ'),
    subject: code ? stray.what : table,
    message: code
      ? `A statement (${stray.what}) is not part of a phase's transaction.`
      : `After a disturbance, ${table === OUTBOX ? table : `table ${table}`} is not as it is without.`,
    evidence: describe(difference, changes, baseline),
    place: statement?.place,
    around: record.phasePlaces.get(statement?.phase ?? ''),
  };
}

/** The mistake that a statement is by itself, whatever it leads to. */
export function codeOf({ where, past, write }: Statement): ProblemCode | undefined {
  if (!write) return undefined;
  if (where === 'outside') return 'write_outside_phase';
  if (where === 'call') return 'write_in_call';
  if (where === 'after_answer') return 'work_after_answer';
  return past ? 'write_past_transaction' : undefined;
}

const WORDS = { INSERT: 'inserted', UPDATE: 'updated', DELETE: 'deleted', TRUNCATE: 'truncated' };

function describe(
  { table, extra, missing }: TableDifference<Change>,
  changes: readonly Change[],
  baseline: TableBaseline<Change>,
): string {
  const ops = new Set([...extra, ...missing].map(({ op }) => op));
  const parts = [...ops].map((op) => {
    const now = changes.filter((change) => change.table === table && change.op === op).length;
    const more = extra.filter((change) => change.op === op).length;
    const less = missing.filter((change) => change.op === op).length;
    if (more === less) {
      const [found] = extra.filter((change) => change.op === op);
      const [expected] = missing.filter((change) => change.op === op);
      return `a row was ${WORDS[op]} with ${baseline.describe(found!)} instead of ${baseline.describe(expected!)}`;
    }
    return `${rows(now)} ${WORDS[op]} instead of ${now - more + less}`;
  });
  return `${table}: ${parts.join(', ')}.`;
}

function rows(count: number): string {
  return count === 1 ? '1 row' : `${count} rows`;
}
