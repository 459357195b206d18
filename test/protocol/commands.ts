import { expect } from '@jest/globals';
import type { AsyncCommand } from 'fast-check';
import { expectInvariants } from './invariants.js';
import {
  WELL,
  type Circumstances,
  type Model,
  type ModelAttempt,
  type Policy,
  type Told,
} from './model.js';
import { LIVES, type Fate, type Outcome, type Real, type RealRow } from './real.js';

/** One run of the property: the model, what it is compared with, and what both know of the keys. */
export class Run {
  readonly stalled: { key: string; attempt: ModelAttempt }[] = [];
  private readonly seen = new Map<string, RealRow>();

  constructor(
    readonly model: Model,
    readonly real: Real,
    private readonly prefix: string,
    private readonly policies: readonly Policy[],
  ) {}

  key(number: number): string {
    return `${this.prefix}-${number}`;
  }

  policy(number: number): Policy {
    return this.policies[number]!;
  }

  /** What the model says of a request. */
  predict(number: number, circumstances: Circumstances, fate: Fate): Outcome {
    const key = this.key(number);
    const begun = this.model.request(key, this.policy(number), circumstances);
    if (!('next' in begun)) return { kind: 'answered', told: begun };
    for (;;) {
      const step = begun.next();
      if (step.done) return { kind: 'answered', told: step.value };
      if (fate.kind === 'lives' || fate.at !== step.value) continue;
      if (fate.kind === 'stalls') this.stalled.push({ key, attempt: begun });
      return fate;
    }
  }

  /** Model and reality agree about every key, and nothing is true that must never be. */
  async compare(): Promise<void> {
    for (const [key, expected] of this.model.keys) {
      const row = (await this.real.row(key))!;
      expectInvariants(this.real.provider, row, this.seen.get(key));
      this.seen.set(key, row);

      const { status, recoveryPoint, attempt, charge } = expected;
      expect(row).toMatchObject({ status, recoveryPoint, attempt, charge });
      const booked = ({ provider }: { provider: Real['provider'] }, effectKey: string | null) =>
        provider.ledger
          .filter((entry) => entry.idempotencyKey === effectKey)
          .map((e) => e.declined);
      expect(booked(this.real, row.effectKey)).toEqual(booked(this.model, key));
    }
    // Nothing is booked under a key that belongs to no intent.
    expect(this.real.provider.ledger).toHaveLength(this.model.provider.ledger.length);
  }
}

type Command = AsyncCommand<Run, Run>;

/** A client sends a request, and its attempt may die or stand still at a fault point. */
export class Request implements Command {
  constructor(
    private readonly number: number,
    private readonly circumstances: Circumstances,
    private readonly fate: Fate,
  ) {}

  check(): boolean {
    return true;
  }

  async run(run: Run): Promise<void> {
    const { number, circumstances, fate } = this;
    const expected = run.predict(number, circumstances, fate);
    const happened = await run.real.request(
      run.key(number),
      run.policy(number),
      circumstances,
      fate,
    );
    expect(happened).toEqual(expected);
    await run.compare();
  }

  toString(): string {
    const { behaviour, reconciler } = this.circumstances;
    const fate = this.fate.kind === 'lives' ? '' : `, ${this.fate.kind} at ${this.fate.at}`;
    return `request(${this.number}: provider ${behaviour}, reconciler ${reconciler}${fate})`;
  }
}

/** Several clients send the same request at once; the provider is well. */
export class Duplicates implements Command {
  constructor(
    private readonly number: number,
    private readonly count: number,
    private readonly fate: Exclude<Fate, { kind: 'stalls' }>,
  ) {}

  check(): boolean {
    return true;
  }

  async run(run: Run): Promise<void> {
    const { number, count, fate } = this;
    const first = run.predict(number, WELL, fate);
    const later = run.predict(number, WELL, LIVES);
    const told = await run.real.duplicates(run.key(number), run.policy(number), WELL, fate, count);
    const possible: Told[] = [{ kind: 'in_progress' }, ...[first, later].flatMap(answersOf)];
    for (const each of told) expect(possible).toContainEqual(each);
    if (first.kind === 'answered') expect(told).toContainEqual(first.told);
    expect(told).toHaveLength(first.kind === 'answered' ? count : count - 1);
    await run.compare();
  }

  toString(): string {
    const fate = this.fate.kind === 'lives' ? '' : `, one dies at ${this.fate.at}`;
    return `${this.count} at once(${this.number}${fate})`;
  }
}

function answersOf(outcome: Outcome): Told[] {
  return outcome.kind === 'answered' ? [outcome.told] : [];
}

/** An attempt that stood still goes on, as if nothing had happened. */
export class Wake implements Command {
  constructor(private readonly index: number) {}

  check(run: Run): boolean {
    return run.stalled.length > 0;
  }

  async run(run: Run): Promise<void> {
    const index = this.index % run.stalled.length;
    const [predicted] = run.stalled.splice(index, 1);
    const [stalled] = run.real.stalled.splice(index, 1);
    let step = predicted!.attempt.next();
    while (!step.done) step = predicted!.attempt.next();
    expect(await stalled!.wake()).toEqual(step.value);
    await run.compare();
  }

  toString(): string {
    return `wake(${this.index})`;
  }
}

/** Nobody renewed the lease in time. */
export class Lapse implements Command {
  constructor(private readonly number: number) {}

  check(run: Run): boolean {
    return run.model.keys.has(run.key(this.number));
  }

  async run(run: Run): Promise<void> {
    const key = run.key(this.number);
    run.model.lapse(key);
    await run.real.lapse(key);
    await run.compare();
  }

  toString(): string {
    return `lapse(${this.number})`;
  }
}

/** The time is over for which the provider remembers the effect key; no attempt sleeps for so long. */
export class Forget implements Command {
  constructor(private readonly number: number) {}

  check(run: Run): boolean {
    const key = run.key(this.number);
    return run.model.keys.has(key) && !run.stalled.some((stalled) => stalled.key === key);
  }

  async run(run: Run): Promise<void> {
    const key = run.key(this.number);
    run.model.forget(key);
    await run.real.forget(key);
    await run.compare();
  }

  toString(): string {
    return `forget(${this.number})`;
  }
}

/** Requests that callers took for lost arrive at the provider. */
export class Deliver implements Command {
  check(): boolean {
    return true;
  }

  async run(run: Run): Promise<void> {
    run.model.provider.deliver();
    run.real.provider.deliver();
    await run.compare();
  }

  toString(): string {
    return 'deliver()';
  }
}
