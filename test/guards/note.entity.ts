import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';

/** The table of test/support/phase-app.ts, as applications write to theirs. */
@Entity('notes')
export class Note {
  @PrimaryGeneratedColumn()
  id!: number;

  @Column()
  note!: string;
}
