import type { EntityManager } from 'typeorm';
import { PhaseUsageError } from '../../policy/phase-errors.js';

/** Stands for the transaction of a phase where the test gave none: says so as soon as it is used. */
export function missingTx(phase: string): EntityManager {
  return new Proxy({} as EntityManager, {
    get(_target, member) {
      // What promises and test runners look for is no use of it.
      if (typeof member === 'symbol' || member === 'then' || member === 'toJSON') return undefined;
      throw new PhaseUsageError(
        `Phase "${phase}" uses tx.${member}, and the fake has no transaction manager. ` +
          `Pass what the code under test calls: new FakeAtomicPhase({ tx: { ${member}: … } }), or provideIdempotencyForTests({ tx: { ${member}: … } }).`,
      );
    },
  });
}
