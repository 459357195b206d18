import {
  Column,
  Entity,
  JoinColumn,
  ManyToOne,
  PrimaryGeneratedColumn,
  type Relation,
} from 'typeorm';
import { Ride } from '../rides/ride.entity.js';

@Entity('tips')
export class Tip {
  @PrimaryGeneratedColumn('identity', {
    type: 'bigint',
    generatedIdentity: 'ALWAYS',
    primaryKeyConstraintName: 'pk_tips',
  })
  id!: string;

  @Column('bigint', { name: 'ride_id' })
  rideId!: string;

  @ManyToOne(() => Ride)
  @JoinColumn({ name: 'ride_id', foreignKeyConstraintName: 'fk_tips_ride' })
  ride?: Relation<Ride>;

  /** In cents. */
  @Column('integer')
  amount!: number;

  /** The provider's transfer; null where it was declined. */
  @Column('text', { name: 'transfer_id', nullable: true })
  transferId!: string | null;

  /** Why the provider refused; null where it did not. */
  @Column('text', { nullable: true })
  declined!: string | null;

  @Column('timestamptz', { name: 'created_at', default: () => 'now()' })
  createdAt!: Date;
}
