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
  /** While a foreign call is made: a client can find it until it is removed. */
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

/** The guard ignores it: a request that is sent again is no second call. */
export function sendAgain<T>(send: () => T): T {
  return requestContext.runUnguarded(requestContext.current!, send);
}

/**
 * A part of the request's context: a separate AsyncLocalStorage would slow down
 * every promise of the process.
 */
export const runningPhase = {
  /** Inside an idempotent handler. */
  run<T>(phase: RunningPhase, work: () => T): T {
    if (phase.queryRunner) runners.add(phase.queryRunner);
    if (phase.effect) showToClients();
    return requestContext.runPhase(requestContext.current!, phase, work);
  },

  get current(): RunningPhase | undefined {
    return requestContext.current?.phase;
  },
};
