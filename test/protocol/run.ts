import { expect } from '@jest/globals';
import { fateful, type Fate } from './fate.js';
import { expectInvariants } from './invariants.js';
import type { Model, ModelAttempt } from './model.js';
import type { Outcome, Real, RealRow } from './real.js';
import type { Circumstances, NamedKey, Policy } from './vocabulary.js';

/** Commands name a slot and not a key: when the key in it is through, a new one takes its place. */
export const SLOTS = 2;

/** One run of the property: the model, what it is compared with, and what both have in common. */
export class Run {
  /** Attempts of the model that stand still, in the same order as the real ones. */
  readonly stalled: { key: string; attempt: ModelAttempt }[] = [];
  private readonly slots: NamedKey[] = [];
  private readonly seen = new Map<string, RealRow>();
  private made = 0;

  constructor(
    readonly model: Model,
    readonly real: Real,
    /** What the names of its keys begin with. */
    private readonly prefix: string,
    private readonly policies: readonly Policy[],
  ) {}

  /** The key of a slot, if it still has something to show. */
  open(slot: number): NamedKey | undefined {
    const key = this.slots[slot];
    return key && !this.isOver(key) ? key : undefined;
  }

  /** Nothing that a client does changes it any more. */
  isOver({ name }: NamedKey): boolean {
    const { status } = this.model.keys.get(name)!;
    return status === 'completed' || status === 'unknown';
  }

  openOrNew(slot: number): NamedKey {
    return this.open(slot) ?? (this.slots[slot] = this.newKey());
  }

  /** The unknown keys of which somebody can know what became of them, oldest first. */
  resolvable(): NamedKey[] {
    return this.keys().filter(
      (key) => this.model.keys.get(key.name)!.status === 'unknown' && !this.hasStalled(key),
    );
  }

  /** An attempt of the key is stalled, and may still make its call. */
  hasStalled({ name }: NamedKey): boolean {
    return this.stalled.some(({ key }) => key === name);
  }

  /** Nobody may say of a call that it was not made while it may still come. */
  honest(key: NamedKey, circumstances: Circumstances): Circumstances {
    const careful = circumstances.reconciler === 'answers' && this.hasStalled(key);
    return careful ? { ...circumstances, reconciler: 'is_careful' } : circumstances;
  }

  /** A key that is not unknown any more takes a slot again. */
  reopen(slot: number, key: NamedKey): void {
    this.slots[slot] = key;
    this.seen.set(key.name, { ...this.seen.get(key.name)!, status: 'failed_retryable' });
  }

  /** What the model says of a request. */
  predict(key: NamedKey, circumstances: Circumstances, fate: Fate): Outcome {
    const begun = this.model.request(key, circumstances);
    if (!('next' in begun)) return { kind: 'answered', told: begun };
    const isFateful = fateful(fate);
    for (;;) {
      const step = begun.next();
      if (step.done) return { kind: 'answered', told: step.value };
      if (fate.kind === 'lives' || !isFateful(step.value)) continue;
      if (fate.kind === 'stalls') this.stalled.push({ key: key.name, attempt: begun });
      return { kind: fate.kind, at: step.value };
    }
  }

  /** Model and reality agree about every key, and nothing is true that must never be. */
  async compare(): Promise<void> {
    const rows = await this.real.rows(this.prefix);
    expect([...rows.keys()].toSorted()).toEqual([...this.model.keys.keys()].toSorted());
    for (const [key, row] of rows) {
      expectInvariants(this.real.provider, row, this.seen.get(key));
      this.seen.set(key, row);

      const { status, recoveryPoint, attempt, charge } = this.model.keys.get(key)!;
      expect({ key, ...row }).toMatchObject({ key, status, recoveryPoint, attempt, charge });
      expect(booked(this.real, row.effectKey)).toEqual(booked(this.model, key));
    }
    // Nothing is booked under a key that belongs to no intent.
    expect(this.real.provider.ledger).toHaveLength(this.model.provider.ledger.length);
  }

  keys(): NamedKey[] {
    return Array.from({ length: this.made }, (_, number) => this.keyOf(number));
  }

  private newKey(): NamedKey {
    return this.keyOf(this.made++);
  }

  private keyOf(number: number): NamedKey {
    const policy = this.policies[number % this.policies.length]!;
    return { name: `${this.prefix}${number}`, policy };
  }
}

/** The provider's entries under one key, as far as model and reality can be compared. */
function booked({ provider }: Pick<Model, 'provider'>, key: string | null): string[] {
  const entries = provider.ledger.filter((entry) => entry.idempotencyKey === key);
  return entries.map(({ declined }) => (declined ? 'declined' : 'charged'));
}
