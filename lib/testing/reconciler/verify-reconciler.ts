import type { INestApplicationContext } from '@nestjs/common';
import { EffectWatch } from '../changes/effect-watch.js';
import { VerificationError } from '../verification-error.js';
import { textTable } from '../text-table.js';
import { IdempotencySettings } from '../../idempotency.settings.js';
import { Reconcilers, type DoubtfulEffect } from '../../phases/reconciler.js';
import { DoubtfulKeysStore } from './doubtful-keys-store.js';
import { ReconcilerKit } from './reconciler-kit.js';
import type { ReconcilerOptions, ReconcilerReport } from './reconciler-options.js';

/**
 * Finds out whether a `@Reconciler()` is honest: it finds a call that was
 * executed, by its effect key, with its result; it answers `unknown` for what the
 * other system does not show yet or cannot be asked about; it gives the same
 * answer however often it is asked, also after a crash between the answer and the
 * record of it; and it changes nothing.
 *
 * Rejects with a `VerificationError` that names each cause and its cure. Needs no
 * test runner. The reconciler job of the application has to be off.
 */
export async function verifyReconciler(
  app: INestApplicationContext,
  options: ReconcilerOptions,
): Promise<ReconcilerReport> {
  await app.init();
  const keys = new DoubtfulKeysStore(app);
  const method = methodOf(app, options);
  const { runs, skipped, problems } = await EffectWatch.around(app, options, async (effects) => {
    const kit = new ReconcilerKit(app, method, keys, effects, options);
    try {
      await kit.run();
    } finally {
      await keys.removeAll();
    }
    return kit;
  });
  const rows = runs.map(({ name, answer }) => [name, answer]);
  const lines = skipped.map((what) => `not verified: ${what}`);
  const table = [textTable(['asked', 'answer'], rows), ...lines].join('\n');
  if (problems.length > 0) {
    const subject = `@Reconciler('${options.recoveryPoint}') is not honest`;
    throw new VerificationError(subject, problems, table);
  }
  return { runs, skipped, problems, table };
}

function methodOf(
  app: INestApplicationContext,
  { recoveryPoint }: ReconcilerOptions,
): (effect: DoubtfulEffect) => unknown {
  const { maintenance } = app.get(IdempotencySettings, { strict: false });
  if (maintenance.reconciler.enabled) {
    throw new Error(
      'verifyReconciler: the reconciler job of this application is on and would ask beside the kit. Switch it off in the test: maintenance: { reconciler: false }.',
    );
  }
  const reconcilers = app.get(Reconcilers, { strict: false });
  const method = reconcilers.method(recoveryPoint);
  if (method) return method;
  throw new Error(
    `verifyReconciler: this application has no @Reconciler('${recoveryPoint}'). It has: ${reconcilers.recoveryPoints.join(', ') || 'none'}. Correct the name, or import the module with the reconciler.`,
  );
}
