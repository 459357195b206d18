import { Column, Entity, Generated, Index, PrimaryColumn } from 'typeorm';

/** A message that was committed together with business data and waits for its delivery. */
@Entity('idempotency_outbox')
@Index(['availableAt', 'position'], { where: 'dead_at IS NULL' })
@Index(['deadAt'], { where: 'dead_at IS NOT NULL' })
@Index(['orderingKey', 'position'], {
  where: 'ordering_key IS NOT NULL AND dead_at IS NULL',
})
export class OutboxMessage {
  /** The scope of the request that added it; empty outside a request. */
  @PrimaryColumn('text', { name: 'scope', collation: 'C', default: '' })
  scope!: string;

  /** Stays the same over all deliveries: the effect key for whatever the handler calls. */
  @PrimaryColumn('uuid', { name: 'id' })
  id!: string;

  /** The key whose request added it, without a foreign key; null outside a request. */
  @Column('bigint', { name: 'key_id', nullable: true })
  keyId!: string | null;

  /** The order in which messages were added; a requeued one gets a new place at the end. */
  @Column('bigint', { name: 'position' })
  @Generated('increment')
  position!: string;

  @Column('text', { name: 'topic' })
  topic!: string;

  @Column('json', { name: 'payload', nullable: true })
  payload!: unknown;

  /** Messages with the same ordering key are delivered one after another, in their order. */
  @Column({ type: 'text', name: 'ordering_key', collation: 'C', nullable: true })
  orderingKey!: string | null;

  /** The span that added it, in W3C's form; null where nobody traced it. */
  @Column('text', { name: 'traceparent', nullable: true })
  traceparent!: string | null;

  /** Deliveries that were begun since the message was added or requeued. */
  @Column('integer', { name: 'attempts', default: 0 })
  attempts!: number;

  /** When it may be claimed (again): now, after a pause, or when its worker's lease lapses. */
  @Column('timestamptz', { name: 'available_at', default: () => 'now()' })
  availableAt!: Date;

  /** The lease of the current delivery; every statement that ends a delivery checks it. */
  @Column('uuid', { name: 'lease_token', nullable: true })
  leaseToken!: string | null;

  @Column('text', { name: 'last_error', nullable: true })
  lastError!: string | null;

  /** Set when no further delivery is tried: the message is a dead letter. */
  @Column('timestamptz', { name: 'dead_at', nullable: true })
  deadAt!: Date | null;

  @Column('timestamptz', { name: 'created_at', default: () => 'now()' })
  createdAt!: Date;
}
