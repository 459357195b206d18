import type { QueryRunner } from 'typeorm';
import { showEffects, type RunningEffect } from '../client/effect.js';
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
  /** While a foreign call is made. */
  effect?: RunningEffect | undefined;
}

const runners = new WeakSet<QueryRunner>();

/** Whether a connection belongs to a phase's transaction. */
export function isPhaseRunner(queryRunner: QueryRunner): boolean {
  return runners.has(queryRunner);
}

let shown = false;

/** Clients of this package use the effect key of the phase that they are called in. */
function showToClients(): void {
  if (!shown) showEffects(() => runningPhase.current?.effect);
  shown = true;
}

/**
 * A part of the request's context: a separate AsyncLocalStorage would slow down
 * every promise of the process.
 */
export const runningPhase = {
  /** Inside an idempotent handler. */
  run<T>(phase: RunningPhase, work: () => T): T {
    if (phase.queryRunner) runners.add(phase.queryRunner);
    return requestContext.run(
      { ...requestContext.current!, phase, unguarded: false, unprotected: false },
      work,
    );
  },

  /** Inside the call of a foreign phase. A client can find its effect until the call has ended. */
  async call<T>(
    phase: Omit<RunningPhase, 'effect'>,
    effect: Omit<RunningEffect, 'again'>,
    work: () => Promise<T>,
  ): Promise<T> {
    showToClients();
    const running: RunningPhase = {
      ...phase,
      effect: {
        ...effect,
        again: (send) => requestContext.run({ ...requestContext.current!, unguarded: true }, send),
      },
    };
    try {
      return await this.run(running, work);
    } finally {
      running.effect = undefined;
    }
  },

  get current(): RunningPhase | undefined {
    return requestContext.current?.phase;
  },
};
