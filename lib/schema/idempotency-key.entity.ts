import { Column, Entity, Index, PrimaryColumn, Unique } from 'typeorm';
import { IdentityColumn } from './identity-column.js';
import type { KeyStatus } from './key-status.js';

/**
 * One key of one scope: who runs it, how far it got, and what it answered. The
 * library reads and writes it with its own statements (see key-store.ts); the
 * entity is for your queries, relations and `migration:generate`.
 *
 * In this and the other entities every column has an explicit name, because
 * statements use it; a naming strategy must not change it. Keys and indexes have
 * none: TypeORM derives theirs from the table's name, so that tables with another
 * `entityPrefix` can exist beside these. Every text column of an index has the collation
 * "C"; the migration of this table says why.
 */
@Entity('idempotency_keys')
@Unique(['id'])
@Index(['expiresAt'])
@Index(['resumeAfter'], { where: 'resume_after IS NOT NULL' })
@Index(['reconcileAfter', 'id'], {
  where: 'reconcile_after IS NOT NULL',
})
@Index(['scope'], {
  where: 'resume_after IS NOT NULL OR reconcile_after IS NOT NULL',
})
export class IdempotencyKey {
  /**
   * One opaque value for people, URLs and your own tables, which may reference it
   * with ON DELETE SET NULL (`@JoinColumn({ referencedColumnName: 'id' })`).
   */
  @IdentityColumn('id')
  id!: string;

  @PrimaryColumn('text', { name: 'scope', collation: 'C' })
  scope!: string;

  @PrimaryColumn('text', { name: 'key', collation: 'C' })
  key!: string;

  /** Method and route pattern with `keyspace: 'endpoint'`, otherwise empty. */
  @PrimaryColumn('text', { name: 'endpoint', collation: 'C', default: '' })
  endpoint!: string;

  @Column('bytea', { name: 'fingerprint' })
  fingerprint!: Buffer;

  @Column('text', { name: 'status', default: 'in_progress' })
  status!: KeyStatus;

  @Column('text', { name: 'recovery_point', default: 'started' })
  recoveryPoint!: string;

  /**
   * The attempt that runs the key, or ran it last. Kept after the attempt, so
   * that a lost reply is recognised.
   */
  @Column('uuid', { name: 'owner' })
  owner!: string;

  @Column('integer', { name: 'attempt', default: 1 })
  attempt!: number;

  @Column('timestamptz', { name: 'locked_until' })
  lockedUntil!: Date;

  @Column('smallint', { name: 'response_status', nullable: true })
  responseStatus!: number | null;

  @Column('jsonb', { name: 'response_headers', nullable: true })
  responseHeaders!: Record<string, string | string[]> | null;

  /** bytea, because jsonb would reorder members and a replay is byte-exact. */
  @Column('bytea', { name: 'response_body', nullable: true })
  responseBody!: Buffer | null;

  /** How to read the three response columns; a reader refuses a version it does not know. */
  @Column('smallint', { name: 'response_version', nullable: true })
  responseVersion!: number | null;

  /** Why the last attempt ended without a final answer. */
  @Column('text', { name: 'last_error_code', nullable: true })
  lastErrorCode!: string | null;

  /** When the reconciler asks about an unknown outcome; `infinity` where it is left to people. */
  @Column('timestamptz', { name: 'reconcile_after', nullable: true })
  reconcileAfter!: Date | number | null;

  @Column('integer', { name: 'reconcile_attempts', default: 0 })
  reconcileAttempts!: number;

  /** The resumable operation behind the key, and its input. */
  @Column('text', { name: 'operation', nullable: true })
  operation!: string | null;

  @Column('json', { name: 'input', nullable: true })
  input!: unknown;

  /** The route's lease, for a worker that continues the operation. */
  @Column('integer', { name: 'lease_ms', nullable: true })
  leaseMs!: number | null;

  /** The route's `maxRunTime`, likewise. */
  @Column('bigint', { name: 'max_run_time_ms', nullable: true })
  maxRunTimeMs!: string | null;

  /** When a job may process it again; null if no job has to. */
  @Column('timestamptz', { name: 'resume_after', nullable: true })
  resumeAfter!: Date | null;

  /** How often a worker has tried to complete the operation. A client's own retries do not count. */
  @Column('integer', { name: 'resume_attempts', default: 0 })
  resumeAttempts!: number;

  /** The key is past its retention, and the completer makes a last attempt; otherwise null. */
  @Column('boolean', { name: 'overdue', nullable: true })
  overdue!: true | null;

  /** The method of the request that reserved the key. */
  @Column('text', { name: 'method', nullable: true })
  method!: string | null;

  /** The pattern of its route, such as `/rides/:id/tips`. */
  @Column('text', { name: 'route', nullable: true })
  route!: string | null;

  /** Its path, without the query. */
  @Column('text', { name: 'path', nullable: true })
  path!: string | null;

  /** What `keepRequest` kept of it. */
  @Column('json', { name: 'request', nullable: true })
  request!: unknown;

  /** The span of the request that reserved the key, in W3C's form; null where nobody traced it. */
  @Column('text', { name: 'traceparent', nullable: true })
  traceparent!: string | null;

  /** The route's policies that the jobs need; null is the default. */
  @Column('text', { name: 'on_abandoned', nullable: true })
  onAbandoned!: 'resume' | null;

  @Column('text', { name: 'on_expired', nullable: true })
  onExpired!: 'gone' | null;

  @Column('timestamptz', { name: 'created_at', default: () => 'now()' })
  createdAt!: Date;

  @Column('timestamptz', { name: 'last_run_at', default: () => 'now()' })
  lastRunAt!: Date;

  @Column('timestamptz', { name: 'completed_at', nullable: true })
  completedAt!: Date | null;

  /** Null is for ever. */
  @Column('timestamptz', { name: 'expires_at', nullable: true })
  expiresAt!: Date | null;

  /** Since when an operator holds it: it is kept, whatever its retention. Null: nobody does. */
  @Column('timestamptz', { name: 'held_at', nullable: true })
  heldAt!: Date | null;
}
