import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { InDoubt, PhaseKind, PhaseState } from './phase-record.js';

/** One phase of one key: what was begun, under which effect key, and its outcome. */
@Entity('idempotency_phases')
@Index(['effectKey'], { where: 'effect_key IS NOT NULL' })
export class IdempotencyPhase {
  @PrimaryColumn('text', { name: 'scope', collation: 'C' })
  scope!: string;

  /** The key, without a foreign key: whatever removes the key removes its phases. */
  @PrimaryColumn('bigint', { name: 'key_id' })
  keyId!: string;

  /** The recovery point that this phase leads to. */
  @PrimaryColumn('text', { name: 'name', collation: 'C' })
  name!: string;

  /** 1 for the first phase of the request. A resume has to reach them in this order. */
  @Column('integer', { name: 'position' })
  position!: number;

  @Column('text', { name: 'kind' })
  kind!: PhaseKind;

  /** `intended`: the call was begun and no outcome was recorded. See PhaseState for all of them. */
  @Column('text', { name: 'state' })
  state!: PhaseState;

  /** The attempt that wrote the current state. */
  @Column('integer', { name: 'attempt' })
  attempt!: number;

  /** The idempotency key handed to the other system: one per phase, the same for every attempt. */
  @Column('uuid', { name: 'effect_key', nullable: true })
  effectKey!: string | null;

  @Column('text', { name: 'in_doubt', nullable: true })
  inDoubt!: InDoubt | null;

  /** Until when the other system remembers the effect key; null is for ever. */
  @Column('timestamptz', { name: 'key_valid_until', nullable: true })
  keyValidUntil!: Date | null;

  /** json and not jsonb: the text is returned as it was written. */
  @Column('json', { name: 'request', nullable: true })
  request!: unknown;

  /** The phase's result, or the rejection of the other system. SQL NULL is `undefined`. */
  @Column('json', { name: 'result', nullable: true })
  result!: unknown;

  @Column('timestamptz', { name: 'started_at', default: () => 'statement_timestamp()' })
  startedAt!: Date;

  @Column('timestamptz', { name: 'finished_at', nullable: true })
  finishedAt!: Date | null;
}
