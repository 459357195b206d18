import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/**
 * The data key of a scope, wrapped by a master key of the `encryption` option.
 * Without its row, nothing that was sealed for the scope can be read any more.
 */
@Entity('idempotency_data_keys')
@Index(['masterKey'])
export class IdempotencyDataKey {
  @PrimaryColumn('text', { name: 'scope', collation: 'C' })
  scope!: string;

  /** Each sealed value begins with it. A scope that was erased gets another one. */
  @Column('uuid', { name: 'id' })
  id!: string;

  /** The id of the master key that wraps it. */
  @Column({ type: 'text', name: 'master_key', collation: 'C' })
  masterKey!: string;

  @Column('bytea', { name: 'wrapped' })
  wrapped!: Buffer;

  @Column('timestamptz', { name: 'created_at', default: () => 'now()' })
  createdAt!: Date;
}
