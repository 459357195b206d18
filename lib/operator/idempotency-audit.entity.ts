import { Column, Entity, Index, PrimaryGeneratedColumn } from 'typeorm';

/**
 * What somebody decided about a key: who, what, why, and what it changed. It
 * points to the key by number only, without a foreign key, because it has to
 * outlive the key; no job removes it.
 */
@Entity('idempotency_audit')
@Index('ix_idempotency_audit_key', ['keyId'])
export class IdempotencyAudit {
  @PrimaryGeneratedColumn('identity', {
    type: 'bigint',
    generatedIdentity: 'ALWAYS',
    primaryKeyConstraintName: 'pk_idempotency_audit',
  })
  id!: string;

  @Column('bigint', { name: 'key_id' })
  keyId!: string;

  @Column('text')
  scope!: string;

  @Column('text')
  endpoint!: string;

  @Column('text')
  key!: string;

  /** The foreign call that the decision was about, if it was about one. */
  @Column('uuid', { name: 'effect_key', nullable: true })
  effectKey!: string | null;

  /** `resolve`, `resolve_key`, `retry`, `evict` or `expire`. */
  @Column('text')
  action!: string;

  @Column('text')
  who!: string;

  @Column('text', { nullable: true })
  why!: string | null;

  @Column('json')
  before!: unknown;

  /** Null where the key is gone. */
  @Column('json', { nullable: true })
  after!: unknown;

  @Column('timestamptz', { default: () => 'now()' })
  at!: Date;
}
