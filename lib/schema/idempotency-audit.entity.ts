import { Check, Column, Entity, Index, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm';

/**
 * What somebody decided about a key, a message or a whole scope: who, what, why, and what it
 * changed. It refers to them without a foreign key, because it has to outlive
 * them; no job removes it.
 */
@Entity('idempotency_audit')
@Check(
  'ck_idempotency_audit_subject',
  `key_id IS NOT NULL OR message_id IS NOT NULL OR action = 'erase'`,
)
@Index(['scope', 'keyId'])
@Index(['scope', 'messageId'], { where: 'message_id IS NOT NULL' })
export class IdempotencyAudit {
  @PrimaryColumn('text', { name: 'scope', collation: 'C' })
  scope!: string;

  @PrimaryGeneratedColumn('identity', { name: 'id', type: 'bigint', generatedIdentity: 'ALWAYS' })
  id!: string;

  /** The key; for a message, the key whose request added it, if there was one. */
  @Column('bigint', { name: 'key_id', nullable: true })
  keyId!: string | null;

  /** Null in an entry about a message. */
  @Column('text', { name: 'endpoint', nullable: true })
  endpoint!: string | null;

  /** Null in an entry about a message. */
  @Column('text', { name: 'key', nullable: true })
  key!: string | null;

  /** The foreign call that the decision was about, if it was about one. */
  @Column('uuid', { name: 'effect_key', nullable: true })
  effectKey!: string | null;

  /** The dead letter that was requeued, in an entry about a message. */
  @Column('uuid', { name: 'message_id', nullable: true })
  messageId!: string | null;

  /** `resolve`, `resolve_key`, `retry`, `evict`, `expire`, `hold`, `release_hold`, `requeue` or `erase`. */
  @Column('text', { name: 'action' })
  action!: string;

  @Column('text', { name: 'who' })
  who!: string;

  @Column('text', { name: 'why', nullable: true })
  why!: string | null;

  @Column('json', { name: 'before' })
  before!: unknown;

  /** Null where the key is gone. */
  @Column('json', { name: 'after', nullable: true })
  after!: unknown;

  @Column('timestamptz', { name: 'at', default: () => 'now()' })
  at!: Date;
}
