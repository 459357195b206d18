import { Logger } from '@nestjs/common';
import type { Attempt } from './attempt.js';
import type { KeyStore } from './key-store.js';

/** Two heartbeats may fail before a lease lapses. */
const HEARTBEATS_PER_LEASE = 3;

/**
 * Keeps the leases of every attempt that runs in this process: one statement
 * per tick for all of them, however many there are.
 */
export class LeaseKeeper {
  private readonly logger = new Logger('IdempotencyModule');
  private readonly held = new Map<Attempt, { since: number }>();
  private readonly idle: (() => void)[] = [];
  private timer: NodeJS.Timeout | undefined;
  private tickDue = Infinity;

  constructor(private readonly store: KeyStore) {}

  get running(): number {
    return this.held.size;
  }

  hold(attempt: Attempt): void {
    this.held.set(attempt, { since: performance.now() });
    attempt.onLeaseLost = () => this.drop(attempt);
    this.schedule(attempt.lease / HEARTBEATS_PER_LEASE);
  }

  drop(attempt: Attempt): void {
    this.held.delete(attempt);
    if (this.held.size > 0) return;
    this.cancel();
    for (const resolve of this.idle.splice(0)) resolve();
  }

  /**
   * For shutdown: waits until nothing runs any more, and after `timeout` lets go
   * of what still does, so that a retry elsewhere need not wait for the lease.
   */
  async drain(timeout: number): Promise<void> {
    await this.untilIdle(timeout);
    const left = [...this.held.keys()];
    if (left.length === 0) return;
    this.logger.warn(
      `${left.length} idempotent request(s) did not finish within ${timeout} ms of shutdown; their leases are released.`,
    );
    this.cancel();
    try {
      await this.store.letGo(left);
    } catch (error) {
      this.logger.error(
        `Leases could not be released at shutdown; they lapse by themselves: ${String(error)}`,
      );
    }
    for (const attempt of left) attempt.loseLease();
  }

  private untilIdle(timeout: number): Promise<void> {
    if (this.held.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, timeout);
      this.idle.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  private schedule(delay: number): void {
    const due = performance.now() + delay;
    if (due >= this.tickDue) return;
    this.cancel();
    this.tickDue = due;
    // Unreferenced: a heartbeat alone is no reason to keep a process alive.
    this.timer = setTimeout(() => void this.tick(), delay).unref();
  }

  private cancel(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.tickDue = Infinity;
  }

  private async tick(): Promise<void> {
    this.timer = undefined;
    this.tickDue = Infinity;
    const now = performance.now();
    const renewed: Attempt[] = [];
    for (const [attempt, { since }] of this.held) {
      // A handler beyond its maxRunTime hangs: its lease may lapse. It stays in
      // `held`, because it may yet end and then it is recorded if nobody took over.
      if (now - since < attempt.policy.maxRunTime) renewed.push(attempt);
    }
    if (renewed.length === 0) return;
    try {
      const lost = new Set(await this.store.renew(renewed));
      for (const attempt of renewed) {
        if (!lost.has(attempt.id) || !this.held.has(attempt)) continue;
        this.logger.warn(
          `Attempt ${attempt.number} of an idempotent request lost its lease at recovery point ${attempt.recoveryPoint}; what it still does is not kept.`,
        );
        attempt.loseLease();
      }
    } catch (error) {
      this.logger.warn(`Leases could not be renewed and are tried again: ${String(error)}`);
    }
    const leases = renewed.filter((attempt) => this.held.has(attempt)).map((a) => a.lease);
    if (leases.length > 0) this.schedule(Math.min(...leases) / HEARTBEATS_PER_LEASE);
  }
}
