import type { BeforeApplicationShutdown, OnModuleDestroy, OnModuleInit } from '@nestjs/common';
import type { Maintenance } from '../../background/maintenance.js';
import type { IdempotencySettings } from '../../idempotency.settings.js';
import type { IdempotentRoutes } from '../../idempotency.routes.js';
import type { KeyService } from '../../keys/key-service.js';
import type { LeaseKeeper } from '../../keys/lease-keeper.js';
import type { OuterInterceptors } from '../../outer-interceptors.js';
import { ForeignCallGuard } from '../../phases/foreign-call-guard.js';
import type { TransactionWatch } from '../../phases/transaction-watch.js';
import type { HttpPlatformHost } from '../../response/http-platform-host.js';
import type { Exploration } from './exploration.js';
import type { FakeOutbox } from './fake-outbox.js';

/** What the module does at boot and at shutdown, without a database. */
export class TestingSetup implements OnModuleInit, BeforeApplicationShutdown, OnModuleDestroy {
  private readonly guards: (ForeignCallGuard | TransactionWatch)[];

  constructor(
    private readonly settings: IdempotencySettings,
    private readonly routes: IdempotentRoutes,
    private readonly http: HttpPlatformHost,
    private readonly leases: LeaseKeeper,
    private readonly keys: KeyService,
    private readonly exploration: Exploration,
    outerInterceptors: OuterInterceptors,
    transactions: TransactionWatch,
    maintenance: Maintenance,
    outbox: FakeOutbox,
  ) {
    this.guards = [transactions, new ForeignCallGuard(settings.guard)];
    outerInterceptors.watchAlways();
    maintenance.add('outbox', () => outbox.deliver());
  }

  onModuleInit(): void {
    this.routes.explore();
    this.exploration.explore();
    this.http.install();
    for (const guard of this.guards) guard.install();
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.keys.close();
    await this.leases.drain(this.settings.shutdownTimeout);
  }

  onModuleDestroy(): void {
    for (const guard of this.guards) guard.uninstall();
  }
}
