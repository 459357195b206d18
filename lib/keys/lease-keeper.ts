import { Injectable, Logger } from '@nestjs/common';
import { BurstLog } from '../telemetry/burst-log.js';
import { errorLine } from '../telemetry/error-line.js';
import { scopeLabel } from '../telemetry/key-labels.js';
import { outside } from '../telemetry/outside.js';
import type { Attempt, LossListener } from './attempt.js';
import { HeldAttempts } from './held-attempts.js';
import { LeaseStore } from './lease-store.js';

/** Two heartbeats may fail before a lease lapses. */
const HEARTBEATS_PER_LEASE = 3;

/** Renews the leases of all attempts in this process, with one statement per tick. */
@Injectable()
export class LeaseKeeper implements LossListener {
  private readonly logger = new Logger('IdempotencyModule');
  private readonly losses = new BurstLog((line) => this.logger.warn(line));
  private readonly held = new HeldAttempts();
  private readonly idle: (() => void)[] = [];
  private timer: NodeJS.Timeout | undefined;
  private tickDue = Infinity;
  private ticking: Promise<void> | undefined;
  private arriving = 0;
  /** For good: the leases of the last attempts were released. */
  private drained = false;

  constructor(private readonly store: LeaseStore) {}

  get running(): number {
    return this.held.size;
  }

  /** How many attempts of a scope run. @param most where counting stops */
  runningOf(scope: string, most: number): number {
    let count = 0;
    for (const attempt of this.held) {
      if (attempt.scope === scope && ++count >= most) break;
    }
    return count;
  }

  /**
   * A reservation is being decided, which may begin an attempt or has to be withdrawn: a shutdown
   * waits for `decided()`.
   */
  deciding(): void {
    this.arriving += 1;
  }

  decided(): void {
    this.arriving -= 1;
    this.noticeIdle();
  }

  hold(attempt: Attempt): void {
    this.held.add(attempt);
    attempt.keeper = this;
    this.schedule(attempt.lease / HEARTBEATS_PER_LEASE);
  }

  drop(attempt: Attempt): void {
    this.held.delete(attempt);
    if (this.held.size === 0) this.cancel();
    this.noticeIdle();
  }

  /**
   * Renews all leases now. One tick at a time, however slow the database is; the
   * end of a tick schedules the next one.
   */
  beat(): Promise<void> {
    this.cancel();
    this.ticking ??= this.tick().finally(() => {
      this.ticking = undefined;
      const leases = [...this.held].map((attempt) => attempt.lease);
      if (leases.length > 0) this.schedule(Math.min(...leases) / HEARTBEATS_PER_LEASE);
    });
    return this.ticking;
  }

  /**
   * For shutdown: waits until no attempt runs any more, and after `timeout`
   * releases the leases of those that do, so that a retry elsewhere need not wait
   * for them to lapse.
   */
  async drain(timeout: number): Promise<void> {
    await this.untilIdle(timeout);
    if (this.arriving > 0) {
      this.logger.warn(
        `${this.arriving} reservation(s) were neither decided nor withdrawn within ${timeout} ms of shutdown. Those that were made lapse by themselves.`,
      );
    }
    const left = [...this.held];
    if (left.length === 0) return;
    this.logger.warn(
      `${left.length} idempotent request(s) did not finish within ${timeout} ms of shutdown; their leases are released.`,
    );
    // A running heartbeat would renew what is released here.
    await this.ticking;
    this.cancel();
    try {
      await this.store.letGo(left);
    } catch (error) {
      this.logger.error(
        `Leases could not be released at shutdown; they lapse by themselves: ${errorLine(error)}`,
      );
    }
    // The line above reports them.
    this.drained = true;
    for (const attempt of left) attempt.loseLease();
  }

  lost(attempt: Attempt, silently: boolean): void {
    if (!silently && !this.drained) this.reportLoss(attempt);
    this.drop(attempt);
  }

  private reportLoss({ id, number, scope, recoveryPoint, observed }: Attempt): void {
    this.losses.note(
      observed.route,
      () =>
        `${observed.route}: attempt ${number} of idempotency key ${id} (scope ${scopeLabel(scope)}) lost its lease at recovery point ${recoveryPoint}; what it still does is not kept.`,
    );
  }

  private untilIdle(timeout: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, timeout);
      this.idle.push(() => {
        clearTimeout(timer);
        resolve();
      });
      this.noticeIdle();
    });
  }

  private noticeIdle(): void {
    if (this.held.size > 0 || this.arriving > 0) return;
    for (const resolve of this.idle.splice(0)) resolve();
  }

  private schedule(delay: number): void {
    const due = performance.now() + delay;
    if (due >= this.tickDue) return;
    this.cancel();
    this.tickDue = due;
    // Unreferenced: a heartbeat alone is no reason to keep a process alive.
    this.timer = setTimeout(() => void outside(() => this.beat()), delay).unref();
  }

  private cancel(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.tickDue = Infinity;
  }

  private async tick(): Promise<void> {
    const now = performance.now();
    const attempts = [...this.held];
    const leases = attempts.map((attempt) => {
      // A handler beyond its maxRunTime hangs: its lease may lapse. It is still watched, because it
      // may end after all, and has to learn when another attempt has replaced it.
      const overdue = now - attempt.startedAt >= attempt.policy.maxRunTime;
      const { scope, endpoint, key, owner, lease } = attempt;
      return { scope, endpoint, key, owner, lease: overdue ? null : lease };
    });
    try {
      const lost = new Set(await this.store.renew(leases));
      for (const attempt of attempts) {
        if (!lost.has(attempt.owner) || !this.held.has(attempt) || attempt.recording) continue;
        attempt.loseLease();
      }
    } catch (error) {
      this.logger.warn(`Leases could not be renewed and are tried again: ${errorLine(error)}`);
    }
  }
}
