import type { Provider } from '@nestjs/common';
import { ColumnCiphers } from './encryption/column-cipher.js';
import { Maintenance } from './background/maintenance.js';
import { IdempotencySettings } from './idempotency.settings.js';
import { Database } from './postgres/database.js';
import { limitsProviders, RESERVER } from './limits.providers.js';
import { WaitingPlaces } from './limits/waiting-places.js';
import type { Reserver } from './keys/reserver.js';
import { MemoryReplayCache, NoReplayCache, ReplayCache } from './keys/replay-cache.js';
import { KeyBatches } from './keys/key-batches.js';
import { RecordedPhases } from './keys/recorded-phases.js';
import { KeyService } from './keys/key-service.js';
import { DistributedKeyStore } from './keys/distributed-key-store.js';
import { KeyStore } from './keys/key-store.js';
import { KeyTransitions } from './keys/key-transitions.js';
import { LeaseStore } from './keys/lease-store.js';
import { LeaseKeeper } from './keys/lease-keeper.js';
import { Recorder } from './keys/recorder.js';
import { Reservations } from './keys/reservations.js';
import { BusyKeys } from './keys/busy-keys.js';
import { WaitingRequests } from './keys/waiting-requests.js';
import type { ObservedAnswer } from './answers/answer.js';
import { pickReplayHeaders, replayHeaderNames } from './answers/replay-headers.js';

/** The life of a key: decided, reserved, leased, recorded, replayed. */
export const keysProviders: Provider[] = [
  KeyService,
  {
    provide: KeyStore,
    useFactory: (database: Database) =>
      database.distributed ? new DistributedKeyStore(database) : new KeyStore(database),
    inject: [Database],
  },
  KeyTransitions,
  LeaseStore,
  RecordedPhases,
  LeaseKeeper,
  WaitingRequests,
  {
    provide: KeyBatches,
    useFactory: (
      keys: KeyStore,
      { storeTimeout, batching }: IdempotencySettings,
      database: Database,
    ) =>
      new KeyBatches(
        keys,
        storeTimeout,
        batching && !database.distributed,
        () => database.isExhausted,
      ),
    inject: [KeyStore, IdempotencySettings, Database],
  },
  {
    provide: ReplayCache,
    useFactory: ({ replayCache }: IdempotencySettings) =>
      replayCache
        ? new MemoryReplayCache(replayCache.ttl, replayCache.maxBytes)
        : new NoReplayCache(),
    inject: [IdempotencySettings],
  },
  ...limitsProviders,
  {
    provide: Reservations,
    useFactory: (
      transitions: KeyTransitions,
      keys: Reserver,
      replays: ReplayCache,
      phases: RecordedPhases,
      leases: LeaseKeeper,
      waitingRequests: WaitingRequests,
      ciphers: ColumnCiphers,
      places: WaitingPlaces,
      { breaker }: Database,
      settings: IdempotencySettings,
      maintenance: Maintenance,
    ) =>
      new Reservations(
        transitions,
        keys,
        replays,
        phases,
        leases,
        new BusyKeys(waitingRequests, places),
        ciphers,
        breaker,
        settings.storeTimeout,
        () => maintenance.wake('completer'),
      ),
    inject: [
      KeyTransitions,
      RESERVER,
      ReplayCache,
      RecordedPhases,
      LeaseKeeper,
      WaitingRequests,
      ColumnCiphers,
      WaitingPlaces,
      Database,
      IdempotencySettings,
      Maintenance,
    ],
  },
  {
    provide: Recorder,
    useFactory: (
      transitions: KeyTransitions,
      batches: KeyBatches,
      leases: LeaseKeeper,
      room: WaitingRequests,
      settings: IdempotencySettings,
      maintenance: Maintenance,
    ) => {
      const names = replayHeaderNames(settings.replayHeaders);
      const pickHeaders = (headers: ObservedAnswer['headers']) => pickReplayHeaders(headers, names);
      const wakeWorkers = () => maintenance.wake('completer');
      return new Recorder(transitions, batches, leases, room, pickHeaders, wakeWorkers);
    },
    inject: [
      KeyTransitions,
      KeyBatches,
      LeaseKeeper,
      WaitingRequests,
      IdempotencySettings,
      Maintenance,
    ],
  },
];
