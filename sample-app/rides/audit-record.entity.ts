import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';

/** Who did what, written in the same transaction as what was done. */
@Entity('audit_records')
export class AuditRecord {
  @PrimaryGeneratedColumn('identity', {
    type: 'bigint',
    generatedIdentity: 'ALWAYS',
    primaryKeyConstraintName: 'pk_audit_records',
  })
  id!: string;

  @Column('text', { name: 'user_id' })
  userId!: string;

  @Column('text')
  action!: string;

  @Column('text')
  subject!: string;

  @Column('timestamptz', { name: 'created_at', default: () => 'now()' })
  createdAt!: Date;
}
