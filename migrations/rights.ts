import type { TableName } from './table-names.js';

export type Right = 'SELECT' | 'INSERT' | 'UPDATE' | 'DELETE';

/** What a process does with the tables. */
export type Purpose =
  /** Requests, messages and mutations with a key. */
  | 'requests'
  /** The process reports itself, whatever else it does. */
  | 'reports'
  | 'sweeper'
  | 'completer'
  | 'reconciler'
  | 'reaper'
  | 'outbox'
  /** What webhooks say of a call in doubt. */
  | 'resolutions'
  /** Everything that people decide. */
  | 'decisions'
  /** Whatever people read. */
  | 'reading';

type TableRights = Partial<Record<TableName, readonly Right[]>>;

/** The rights that the statements of each purpose need. */
export const RIGHTS: Record<Purpose, TableRights> = {
  requests: {
    idempotency_keys: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
    idempotency_phases: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
    idempotency_outbox: ['INSERT'],
    idempotency_data_keys: ['SELECT', 'INSERT'],
  },
  reports: { idempotency_processes: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'] },
  sweeper: {
    idempotency_keys: ['SELECT', 'UPDATE'],
    idempotency_phases: ['SELECT'],
    idempotency_jobs: ['SELECT', 'INSERT', 'UPDATE'],
  },
  completer: {
    idempotency_keys: ['SELECT', 'UPDATE'],
    idempotency_phases: ['SELECT', 'INSERT', 'UPDATE'],
    idempotency_outbox: ['INSERT'],
    idempotency_data_keys: ['SELECT', 'INSERT'],
  },
  reconciler: {
    idempotency_keys: ['SELECT', 'UPDATE'],
    idempotency_phases: ['SELECT', 'UPDATE'],
    idempotency_audit: ['SELECT', 'INSERT'],
    idempotency_data_keys: ['SELECT', 'INSERT'],
  },
  reaper: {
    idempotency_keys: ['SELECT', 'UPDATE', 'DELETE'],
    idempotency_phases: ['SELECT', 'DELETE'],
  },
  outbox: {
    idempotency_outbox: ['SELECT', 'UPDATE', 'DELETE'],
    idempotency_data_keys: ['SELECT', 'INSERT'],
  },
  resolutions: {
    idempotency_keys: ['SELECT', 'UPDATE'],
    idempotency_phases: ['SELECT', 'UPDATE'],
    idempotency_audit: ['SELECT', 'INSERT'],
    idempotency_data_keys: ['SELECT', 'INSERT'],
  },
  decisions: {
    idempotency_keys: ['SELECT', 'UPDATE', 'DELETE'],
    idempotency_phases: ['SELECT', 'UPDATE', 'DELETE'],
    idempotency_outbox: ['SELECT', 'UPDATE'],
    idempotency_audit: ['SELECT', 'INSERT'],
    idempotency_data_keys: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
  },
  reading: {
    idempotency_keys: ['SELECT'],
    idempotency_phases: ['SELECT'],
    idempotency_outbox: ['SELECT'],
    idempotency_audit: ['SELECT'],
    idempotency_processes: ['SELECT'],
    idempotency_data_keys: ['SELECT'],
  },
};

/** Those whose statements draw a position from the sequence of the outbox. */
export const DRAWS_POSITION: ReadonlySet<Purpose> = new Set(['requests', 'completer', 'decisions']);

/** The column that has a sequence, whose rights are separate (an identity column needs none). */
export const POSITION = { table: 'idempotency_outbox', column: 'position' } as const;

/**
 * An identity column that needs them nevertheless on distributed tables: there
 * the entry is an INSERT with a SELECT, for which Citus draws the id like anybody else.
 */
export const AUDIT_ID = { table: 'idempotency_audit', column: 'id' } as const;

/** Those whose statements write to the audit. */
export function writesAudit(purpose: Purpose): boolean {
  return RIGHTS[purpose].idempotency_audit?.includes('INSERT') ?? false;
}

/** What the health check of a process that serves requests reads of the outbox: no payloads. */
export const HEALTH_COLUMNS = ['available_at', 'position', 'dead_at'] as const;

/** The purposes of each role of `idempotencyGrants()`. */
export const ROLES = {
  application: ['requests', 'reports', 'resolutions'],
  worker: [
    'reports',
    'sweeper',
    'completer',
    'reconciler',
    'reaper',
    'outbox',
    'decisions',
    'reading',
  ],
  operator: ['reading'],
} as const satisfies Record<string, readonly Purpose[]>;

export type Role = keyof typeof ROLES;

/** All rights of some purposes, by table. */
export function rightsFor(purposes: readonly Purpose[]): Map<TableName, Set<Right>> {
  const rights = new Map<TableName, Set<Right>>();
  for (const purpose of purposes) {
    for (const [table, needed] of Object.entries(RIGHTS[purpose])) {
      const ofTable = rights.get(table as TableName) ?? new Set<Right>();
      for (const right of needed) ofTable.add(right);
      rights.set(table as TableName, ofTable);
    }
  }
  return rights;
}
