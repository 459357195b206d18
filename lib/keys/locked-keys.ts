import { nameOf, type KeyName } from '../schema/key-name.js';

/** How long a locked key is remembered. */
const MEMORY = 10_000;

/** A process has few of them at a time; beyond this many, the oldest is forgotten. */
const MOST = 1_000;

/**
 * Keys whose row is locked by a transaction that does not end, because its
 * process or its connection hangs. Requests for them must not wait for the lock.
 */
export class LockedKeys {
  /** Until when each is remembered, by performance.now(); the oldest first. */
  private readonly until = new Map<string, number>();

  add(name: KeyName): void {
    const key = nameOf(name);
    this.until.delete(key);
    this.until.set(key, performance.now() + MEMORY);
    if (this.until.size > MOST) this.until.delete(this.until.keys().next().value!);
  }

  has(name: KeyName): boolean {
    if (this.until.size === 0) return false;
    const key = nameOf(name);
    const until = this.until.get(key);
    if (until === undefined) return false;
    if (performance.now() < until) return true;
    this.until.delete(key);
    return false;
  }
}
