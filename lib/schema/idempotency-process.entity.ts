import { Column, Entity, PrimaryColumn } from 'typeorm';

/**
 * A process that imports the module, and what its jobs were doing when it last
 * reported. It has no scope, because a process serves all scopes.
 */
@Entity('idempotency_processes')
export class IdempotencyProcess {
  /** Generated when the process boots. */
  @PrimaryColumn('uuid', { name: 'id' })
  id!: string;

  @Column('text', { name: 'host' })
  host!: string;

  @Column('integer', { name: 'pid' })
  pid!: number;

  /** The version of this package. */
  @Column('text', { name: 'version' })
  version!: string;

  @Column('json', { name: 'jobs' })
  jobs!: unknown;

  @Column('timestamptz', { name: 'started_at', default: () => 'now()' })
  startedAt!: Date;

  @Column('timestamptz', { name: 'reported_at', default: () => 'now()' })
  reportedAt!: Date;
}
