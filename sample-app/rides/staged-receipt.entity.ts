import { Column, Entity, JoinColumn, ManyToOne, PrimaryColumn, type Relation } from 'typeorm';
import { Ride } from './ride.entity.js';

/**
 * A receipt that is to be mailed. It is a row and not a mail, because a row can
 * be rolled back with its transaction and a mail cannot.
 */
@Entity('staged_receipts')
export class StagedReceipt {
  @PrimaryColumn('bigint', {
    name: 'ride_id',
    primaryKeyConstraintName: 'pk_staged_receipts',
  })
  rideId!: string;

  @ManyToOne(() => Ride)
  @JoinColumn({ name: 'ride_id', foreignKeyConstraintName: 'fk_staged_receipts_ride' })
  ride?: Relation<Ride>;

  @Column('text')
  email!: string;

  /** In cents. */
  @Column('integer')
  amount!: number;

  @Column('timestamptz', { name: 'created_at', default: () => 'now()' })
  createdAt!: Date;
}
