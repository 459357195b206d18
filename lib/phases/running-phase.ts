import type { QueryRunner } from 'typeorm';
import { requestContext } from './request-context.js';
import type { PhaseKind } from '../schema/phase-record.js';

/** The phase around the running code. */
export interface RunningPhase {
  journal: object;
  name: string;
  kind: PhaseKind;
  /** The connection of the phase's transaction. */
  queryRunner?: QueryRunner | undefined;
  /** Outgoing requests seen in a foreign call. */
  requests: number;
}

const runners = new WeakSet<QueryRunner>();

/** Whether a connection belongs to a phase's transaction, whoever uses it. */
export function isPhaseRunner(queryRunner: QueryRunner): boolean {
  return runners.has(queryRunner);
}

/** A part of the request's context: a storage of its own would cost every promise of the process. */
export const runningPhase = {
  /** Inside an idempotent handler. */
  run<T>(phase: RunningPhase, work: () => T): T {
    if (phase.queryRunner) runners.add(phase.queryRunner);
    return requestContext.run(
      { ...requestContext.current!, phase, unguarded: false, unprotected: false },
      work,
    );
  },

  get current(): RunningPhase | undefined {
    return requestContext.current?.phase;
  },
};
