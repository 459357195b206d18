import { Column, Entity, PrimaryColumn } from 'typeorm';

/** How far a job that walks through a table has come, shared by all processes. */
@Entity('idempotency_jobs')
export class IdempotencyJob {
  @PrimaryColumn('text', { name: 'job', collation: 'C' })
  job!: string;

  /** Rows up to this id need not be looked at again. */
  @Column('bigint', { name: 'position', default: 0 })
  position!: string;

  /** Until then the walk belongs to one process. */
  @Column('timestamptz', { name: 'claimed_until', default: () => 'now()' })
  claimedUntil!: Date;
}
