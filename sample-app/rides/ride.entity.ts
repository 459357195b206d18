import {
  Column,
  Entity,
  JoinColumn,
  ManyToOne,
  PrimaryGeneratedColumn,
  Unique,
  type Relation,
} from 'typeorm';
import { IdempotencyKey } from 'nestjs-atomic-idempotency';
import type { Target } from './fares.js';

@Entity('rides')
@Unique('uq_rides_idempotency_key', ['idempotencyKeyId'])
export class Ride {
  @PrimaryGeneratedColumn('identity', {
    type: 'bigint',
    generatedIdentity: 'ALWAYS',
    primaryKeyConstraintName: 'pk_rides',
  })
  id!: string;

  @Column('text', { name: 'user_id' })
  userId!: string;

  @Column('text')
  origin!: string;

  @Column('text')
  target!: Target;

  /** In cents. */
  @Column('integer')
  fare!: number;

  /** The provider's charge; null until the ride is paid, and for ever if the card was declined. */
  @Column('text', { name: 'charge_id', nullable: true })
  chargeId!: string | null;

  /**
   * The request this ride came from. Unique, so the database itself would refuse
   * a second ride for the same key. The key is forgotten one day, the ride is
   * not: hence SET NULL.
   */
  @Column('bigint', { name: 'idempotency_key_id', nullable: true })
  idempotencyKeyId!: string | null;

  @ManyToOne(() => IdempotencyKey, { onDelete: 'SET NULL' })
  @JoinColumn({
    name: 'idempotency_key_id',
    referencedColumnName: 'id',
    foreignKeyConstraintName: 'fk_rides_idempotency_key',
  })
  idempotencyKey?: Relation<IdempotencyKey>;

  @Column('timestamptz', { name: 'created_at', default: () => 'now()' })
  createdAt!: Date;
}
