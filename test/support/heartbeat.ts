import type { INestApplication } from '@nestjs/common';
import { LeaseKeeper } from '../../lib/keys/lease-keeper.js';

/** Renews all leases of the application now, instead of waiting for a third of a lease to pass. */
export async function heartbeat(app: INestApplication): Promise<void> {
  const keeper = app.get(LeaseKeeper);
  // This one may have begun before, and may not know of what the test has done last.
  await keeper.beat();
  await keeper.beat();
}
