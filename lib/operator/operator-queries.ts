import { Injectable } from '@nestjs/common';
import { ColumnCiphers, type CipherOf } from '../encryption/column-cipher.js';
import { KEY } from '../encryption/columns.js';
import { shown } from '../encryption/shown.js';
import {
  INSPECTED,
  inspected,
  inspectedPhase,
  type InspectedColumns,
  type PhaseRow,
} from './inspected-columns.js';
import { Database, type Statements } from '../postgres/database.js';
import { milliseconds, withDates } from '../postgres/times.js';
import { AuditQueries } from './audit-queries.js';
import { DoubtQueries, type Doubt } from './doubt-queries.js';
import { timelineOf, type KeyPage, type KeyReport, type KeySummary } from './key-report.js';
import type { KeySearch } from './key-search.js';

/**
 * How many rows one statement walks over at most. There is no index on the status
 * (it would make every request more expensive), so a rare one is searched for
 * page by page, each well within the store's time-out.
 */
const WALK = 20_000;

/** The operator's reads. */
@Injectable()
export class OperatorQueries {
  private readonly keys: string;
  private readonly phases: string;

  constructor(
    private readonly database: Database,
    private readonly audit: AuditQueries,
    private readonly doubts: DoubtQueries,
    private readonly ciphers: ColumnCiphers,
  ) {
    this.keys = database.table('idempotency_keys');
    this.phases = database.table('idempotency_phases');
  }

  /** Up to `limit` keys after `after`, in the order of their ids. */
  async find(search: KeySearch): Promise<KeyPage> {
    // Found by an index, in one statement.
    if (isIndexed(search)) return pageOf(await this.select(this.keys, search), search);
    const found: KeySummary[] = [];
    let { after } = search;
    for (let walked = 0; ; walked += WALK) {
      if (walked >= search.walk) return { keys: found, next: after };
      const limit = search.limit - found.length;
      found.push(...(await this.select(this.stretch, { ...search, after, limit })));
      if (found.length >= search.limit) return pageOf(found, search);
      const end = await this.endOfStretch(after, search);
      if (end === undefined) return pageOf(found, search);
      after = end;
    }
  }

  async inspect(id: string): Promise<KeyReport | undefined> {
    const [key] = await this.database.query<SummaryRow & InspectedColumns>(
      `SELECT ${SUMMARY}, ${INSPECTED}
       FROM ${this.keys} k
       WHERE k.id = $1`,
      [id],
    );
    if (!key) return undefined;
    const cipher = (await this.ciphers.readers([key]))(key.scope);
    const doubts = await this.doubts.of([key]);
    const phases = await this.database.query<PhaseRow>(
      `SELECT name, position, kind, state, attempt, effect_key AS "effectKey", in_doubt AS "inDoubt",
              ${milliseconds('key_valid_until')} AS "keyValidUntil",
              request::text AS request, result::text AS result,
              ${milliseconds('started_at')} AS "startedAt",
              ${milliseconds('finished_at')} AS "finishedAt"
       FROM ${this.phases} WHERE scope = $1 AND key_id = $2 ORDER BY position`,
      [key.scope, key.id],
    );
    const summary = summaryOf(key, () => cipher, doubts.get(key.id));
    const report = {
      ...inspected(summary, cipher),
      phases: phases.map((phase) => inspectedPhase(key.id, phase, cipher)),
      audit: await this.audit.ofKey(key),
    };
    return { ...report, timeline: timelineOf(report) };
  }

  private async select(from: string, search: KeySearch): Promise<KeySummary[]> {
    const { statuses, scope, key, effectKey, ids, route, held, after, limit } = search;
    const { olderThan, youngerThan } = search;
    const rows = await this.statements(search).query<SummaryRow>(
      `SELECT ${SUMMARY}
       FROM ${from} k
       WHERE id > $1
         AND ($2::text IS NULL OR scope = $2) AND ($3::text IS NULL OR key = $3)
         AND ($4::uuid IS NULL OR (scope, id) IN (SELECT scope, key_id FROM ${this.phases} WHERE effect_key = $4))
         AND ($5::text[] IS NULL OR status = ANY ($5))
         AND ($6::float8 IS NULL OR created_at <= now() - $6 * interval '1 millisecond')
         AND ($7::float8 IS NULL OR created_at >= now() - $7 * interval '1 millisecond')
         AND ($9::bigint[] IS NULL OR id = ANY ($9)) AND ($10::text IS NULL OR route = $10)
         AND ($11::boolean IS NULL OR (held_at IS NOT NULL) = $11)
       ORDER BY id
       LIMIT $8`,
      [after, scope, key, effectKey, statuses, olderThan, youngerThan, limit, ids, route, held],
    );
    const cipherOf = await this.ciphers.readers(rows);
    const doubts = await this.doubts.of(rows);
    return rows.map((row) => summaryOf(row, cipherOf, doubts.get(row.id)));
  }

  private statements({ scope }: KeySearch): Statements {
    return scope === null ? this.database : this.database.for({ scope });
  }

  /** The next rows of the walk, behind the parameter $1. */
  private get stretch(): string {
    return `(SELECT * FROM ${this.keys} WHERE id > $1 ORDER BY id LIMIT ${WALK})`;
  }

  private async endOfStretch(after: string, search: KeySearch): Promise<string | undefined> {
    const [row] = await this.statements(search).query<{ last: string; rows: number }>(
      `SELECT max(id) AS last, count(*)::int AS rows FROM ${this.stretch} k`,
      [after],
    );
    return row?.rows === WALK ? row.last : undefined;
  }
}

function isIndexed({ effectKey, ids, scope, key }: KeySearch): boolean {
  return effectKey !== null || ids !== null || (scope !== null && key !== null);
}

function pageOf(keys: KeySummary[], { limit }: KeySearch): KeyPage {
  return { keys, next: keys.length === limit ? keys.at(-1)!.id : undefined };
}

/** Key `k`. */
export const SUMMARY = `
  k.id, k.scope, k.endpoint, k.key, k.method, k.route, k.path, k.status,
  k.recovery_point AS "recoveryPoint", k.attempt, k.resume_attempts AS "resumeAttempts",
  k.last_error_code AS "lastErrorCode", k.operation,
  k.reconcile_attempts AS "reconcileAttempts",
  ${milliseconds("nullif(k.reconcile_after, 'infinity')")} AS "reconcileAfter",
  ${milliseconds('k.resume_after')} AS "resumeAfter",
  ${milliseconds('k.created_at')} AS "createdAt", ${milliseconds('k.last_run_at')} AS "lastRunAt",
  ${milliseconds('k.completed_at')} AS "completedAt", ${milliseconds('k.expires_at')} AS "expiresAt",
  ${milliseconds('k.held_at')} AS "heldAt"`;

export type SummaryRow = Omit<KeySummary, 'inDoubt'>;

export function summaryOf<Row extends SummaryRow>(
  row: Row,
  cipherOf: CipherOf,
  doubt: Doubt | undefined,
): Row & KeySummary {
  const key = withDates(
    row,
    'reconcileAfter',
    'resumeAfter',
    'createdAt',
    'lastRunAt',
    'completedAt',
    'expiresAt',
    'heldAt',
  );
  const path = shown(() => cipherOf(row.scope).openText(row.path, KEY.path, row) ?? null);
  // With a recorded answer nothing is in doubt, even if the outcome of a call could not be
  // recorded.
  if (key.status === 'completed' || !doubt) return { ...key, path, inDoubt: null };
  const { phase, effectKey, startedAt } = doubt;
  return { ...key, path, inDoubt: { phase, effectKey, startedAt } };
}
