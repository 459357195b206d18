import { Column, Entity, Index, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm';

/**
 * What somebody decided about a key: who, what, why, and what it changed. It
 * points to the key by its id only, without a foreign key, because it has to
 * outlive the key; no job removes it.
 */
@Entity('idempotency_audit')
@Index(['scope', 'keyId'])
export class IdempotencyAudit {
  @PrimaryColumn('text', { name: 'scope' })
  scope!: string;

  @PrimaryGeneratedColumn('identity', { name: 'id', type: 'bigint', generatedIdentity: 'ALWAYS' })
  id!: string;

  @Column('bigint', { name: 'key_id' })
  keyId!: string;

  @Column('text', { name: 'endpoint' })
  endpoint!: string;

  @Column('text', { name: 'key' })
  key!: string;

  /** The foreign call that the decision was about, if it was about one. */
  @Column('uuid', { name: 'effect_key', nullable: true })
  effectKey!: string | null;

  /** `resolve`, `resolve_key`, `retry`, `evict` or `expire`. */
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
