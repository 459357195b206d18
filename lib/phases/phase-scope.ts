import { AsyncLocalStorage } from 'node:async_hooks';
import type { QueryRunner } from 'typeorm';
import type { PhaseKind } from './phase-record.js';

/** The phase around the running code. */
export interface PhaseScope {
  journal: object;
  name: string;
  kind: PhaseKind;
  /** The connection of the phase's transaction. */
  queryRunner?: QueryRunner | undefined;
  /** Outgoing requests seen in a foreign call. */
  requests: number;
}

const storage = new AsyncLocalStorage<PhaseScope>();

export const phaseScope = {
  run<T>(scope: PhaseScope, work: () => T): T {
    return storage.run(scope, work);
  },

  get current(): PhaseScope | undefined {
    return storage.getStore();
  },
};
