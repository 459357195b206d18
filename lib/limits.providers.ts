import type { Provider } from '@nestjs/common';
import { IdempotencySettings } from './idempotency.settings.js';
import { KeyBatches } from './keys/key-batches.js';
import { KeyStore } from './keys/key-store.js';
import { LeaseKeeper } from './keys/lease-keeper.js';
import { LimitedReservations } from './keys/limited-reservations.js';
import type { Reserver } from './keys/reserver.js';
import { NewKeyLimits } from './limits/new-key-limits.js';
import { ScopeLimits } from './limits/scope-limits.js';
import { ScopeUsage } from './limits/scope-usage.js';
import { TokenBuckets } from './limits/token-buckets.js';
import { UsageStore } from './limits/usage-store.js';
import { WaitingPlaces } from './limits/waiting-places.js';

/** Who reserves keys: within limits, or without any. */
export const RESERVER = Symbol('idempotency:reserver');

const SCOPE_LIMITS = Symbol('idempotency:scope-limits');

/** The limits of scopes. Without the option, nothing of them is on the way of a request. */
export const limitsProviders: Provider[] = [
  UsageStore,
  {
    provide: SCOPE_LIMITS,
    useFactory: ({ limits }: IdempotencySettings) => limits && new ScopeLimits(limits),
    inject: [IdempotencySettings],
  },
  {
    provide: WaitingPlaces,
    useFactory: (limits: ScopeLimits | undefined) => new WaitingPlaces(limits),
    inject: [SCOPE_LIMITS],
  },
  {
    provide: RESERVER,
    useFactory: (
      limits: ScopeLimits | undefined,
      batches: KeyBatches,
      keys: KeyStore,
      leases: LeaseKeeper,
      store: UsageStore,
      { storeTimeout, batching }: IdempotencySettings,
    ): Reserver => {
      if (!limits) return batches;
      const usage = new ScopeUsage(
        (scope, of) => store.look(scope, of),
        (scope, most) => leases.runningOf(scope, most),
      );
      const newKeys = new NewKeyLimits(limits, new TokenBuckets(), usage);
      return new LimitedReservations(batches, newKeys, keys, storeTimeout, batching);
    },
    inject: [SCOPE_LIMITS, KeyBatches, KeyStore, LeaseKeeper, UsageStore, IdempotencySettings],
  },
];
