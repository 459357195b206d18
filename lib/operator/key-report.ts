import type { Duration } from '../policy/duration.js';
import type { KeyStatus } from '../schema/key-status.js';
import type { InDoubt, PhaseKind, PhaseState } from '../schema/phase-record.js';
import type { IdempotencyAudit } from '../schema/idempotency-audit.entity.js';

/** Which keys to find. All conditions must hold; without any, every key is found. */
export interface KeyQuery {
  status?: KeyStatus | readonly KeyStatus[];
  scope?: string;
  key?: string;
  /** The idempotency key of one foreign call. */
  effectKey?: string;
  /** The key with this id, or those with these. */
  id?: string | readonly string[];
  /** The pattern of its route, such as `/rides/:id/tips`. */
  route?: string;
  /** Those that somebody holds, or those that nobody holds. */
  held?: boolean;
  /** Reserved longer ago than this. */
  olderThan?: Duration;
  /** Reserved more recently than this. */
  youngerThan?: Duration;
  /** The `next` of the previous page. */
  after?: string;
  /** @default 50, at most 1000 */
  limit?: number;
  /**
   * After about how many keys to stop if no index helps: by status, route or age
   * alone. A page may then have fewer keys, or none, and a `next`.
   * @default all of them
   */
  walk?: number;
}

export interface KeyPage {
  /** Oldest first. */
  keys: KeySummary[];
  /** For the next page; undefined at the end. */
  next: string | undefined;
}

export interface KeySummary {
  id: string;
  scope: string;
  endpoint: string;
  key: string;
  /** The request: its method, the pattern of its route, and its path without the query. */
  method: string | null;
  route: string | null;
  path: string | null;
  status: KeyStatus;
  recoveryPoint: string;
  attempt: number;
  /** Why the last attempt ended without a final answer, or what was decided since. */
  lastErrorCode: string | null;
  operation: string | null;
  /** The foreign call in doubt, for `resolve()`. */
  inDoubt: { phase: string; effectKey: string; startedAt: Date } | null;
  /** When a reconciler is asked next. Null with status `unknown`: it is left to people. */
  reconcileAfter: Date | null;
  reconcileAttempts: number;
  /** When the completer may resume. Null with an unfinished operation: it was given up. */
  resumeAfter: Date | null;
  /** How often workers have tried to complete the operation. */
  resumeAttempts: number;
  createdAt: Date;
  lastRunAt: Date;
  completedAt: Date | null;
  expiresAt: Date | null;
  /** Since when somebody holds it; the audit says who, and why. Null: nobody does. */
  heldAt: Date | null;
}

export interface PhaseReport {
  name: string;
  position: number;
  kind: PhaseKind;
  state: PhaseState;
  /** The attempt that wrote the state. */
  attempt: number;
  effectKey: string | null;
  inDoubt: InDoubt | null;
  keyValidUntil: Date | null;
  request: unknown;
  result: unknown;
  startedAt: Date;
  finishedAt: Date | null;
}

export interface KeyReport extends KeySummary {
  /** What the route's `keepRequest` kept of the request. */
  request: unknown;
  /** The stored answer, without its body, which is the caller's. */
  answer: {
    status: number;
    headers: Record<string, string | string[]>;
    bytes: number;
    /** Why headers and body cannot be read, if they cannot. */
    unreadable?: string;
  } | null;
  phases: PhaseReport[];
  /** What people and machines decided about it. */
  audit: AuditEntry[];
  /** All of this, in order of time. */
  timeline: TimelineEntry[];
}

/** What somebody decided about a key, or about a message that its request added. */
export type AuditEntry = Omit<IdempotencyAudit, 'keyId' | 'scope' | 'endpoint' | 'key'>;

export interface TimelineEntry {
  at: Date;
  what: string;
  attempt?: number;
}

/**
 * The history of a key, oldest first. Only recorded attempts appear: the first,
 * the last, and those that wrote a phase.
 */
export function timelineOf(key: Omit<KeyReport, 'timeline'>): TimelineEntry[] {
  const entries: TimelineEntry[] = [{ at: key.createdAt, what: 'reserved', attempt: 1 }];
  if (key.attempt > 1) {
    entries.push({ at: key.lastRunAt, what: 'attempt began', attempt: key.attempt });
  }
  for (const { name, kind, state, attempt, startedAt, finishedAt } of key.phases) {
    if (kind === 'foreign') entries.push({ at: startedAt, what: `${name}: call intended` });
    if (finishedAt !== null) entries.push({ at: finishedAt, what: `${name}: ${state}`, attempt });
  }
  for (const { at, action, who } of key.audit) entries.push({ at, what: `${action} by ${who}` });
  if (key.completedAt !== null) {
    const what = key.status === 'performed' ? 'performed' : 'completed';
    entries.push({ at: key.completedAt, what });
  }
  return entries.toSorted((a, b) => a.at.getTime() - b.at.getTime());
}
