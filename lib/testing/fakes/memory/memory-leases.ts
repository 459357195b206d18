import type { Lease, LeaseStore } from '../../../keys/lease-store.js';
import type { MemoryStore } from './memory-store.js';

type Held = Omit<Lease, 'lease'>;

/** The leases of a test's only process: renewed, let go and looked at. */
export class MemoryLeases implements Pick<LeaseStore, keyof LeaseStore> {
  constructor(private readonly store: MemoryStore) {}

  async renew(leases: readonly (Held & { lease: number | null })[]): Promise<string[]> {
    for (const { lease, ...held } of leases) {
      const row = this.running(held);
      if (row && lease !== null) row.lockedUntil = Date.now() + lease;
    }
    return leases.filter((held) => !this.running(held)).map(({ owner }) => owner);
  }

  async letGo(leases: readonly Held[]): Promise<void> {
    for (const held of leases) {
      const row = this.running(held);
      if (row) row.lockedUntil = Date.now();
    }
  }

  async stillRunning(attempts: readonly Held[]): Promise<Set<string>> {
    const running = attempts.filter((held) => {
      const row = this.running(held);
      return row !== undefined && row.lockedUntil > Date.now();
    });
    return new Set(running.map(({ owner }) => owner));
  }

  async lapse(id: string): Promise<void> {
    const row = this.store.all.find((key) => key.id === id && key.status === 'in_progress');
    if (row) row.lockedUntil = Date.now();
  }

  private running(held: Held) {
    const row = this.store.find(held);
    return row?.owner === held.owner && row.status === 'in_progress' ? row : undefined;
  }
}
