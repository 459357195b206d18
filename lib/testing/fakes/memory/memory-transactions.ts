import type { EntityManager, QueryRunner } from 'typeorm';
import { LeaseLostError } from '../../../policy/phase-errors.js';
import { phaseResult } from '../../../phases/phase-result.js';
import type { PhasePlace, PhaseTransactions } from '../../../phases/phase-transactions.js';
import type { EndedPhase } from '../../../phases/phase-store.js';
import { runningPhase, type RunningPhase } from '../../../phases/running-phase.js';
import type { MemoryPhases } from './memory-phases.js';

const undos = new WeakMap<RunningPhase, (() => void)[]>();

/** Undone if the phase around the running code rolls back; kept where there is none. */
export function onRollback(undo: () => void): void {
  const phase = runningPhase.current;
  if (phase) undos.set(phase, [...(undos.get(phase) ?? []), undo]);
}

/** Ends phases in memory. What the user's work does to its `tx` is up to that `tx`. */
export class MemoryTransactions implements Pick<PhaseTransactions, 'commit' | 'finish' | 'end'> {
  constructor(
    private readonly phases: MemoryPhases,
    private readonly tx: (phase: string) => EntityManager,
  ) {}

  async commit(
    place: PhasePlace,
    work: (tx: EntityManager) => Promise<unknown>,
  ): Promise<string | undefined> {
    // The guards tell a transaction from a call by its connection.
    const queryRunner = {} as QueryRunner;
    const running: RunningPhase = { ...place, queryRunner, requests: 0 };
    try {
      const value = await runningPhase.run(running, () => work(this.tx(place.name)));
      const result = phaseResult(place.name, value);
      await this.finish(place, result);
      return result;
    } catch (error) {
      for (const undo of (undos.get(running) ?? []).toReversed()) undo();
      throw error;
    }
  }

  finish(place: PhasePlace, result: string | undefined): Promise<void> {
    return this.end(place, 'finished', result);
  }

  async end(place: PhasePlace, state: EndedPhase['state'], result?: string): Promise<void> {
    const { attempt, name, position, kind } = place;
    if (!attempt) return;
    const recorded = await this.phases.record({ attempt, name, position, kind, state, result });
    if (recorded) return;
    attempt.loseLease();
    throw new LeaseLostError(name);
  }
}
