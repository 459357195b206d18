import { expect } from '@jest/globals';
import type { AsyncCommand } from 'fast-check';
import { describeFate, LIVES, type Fate } from './fate.js';
import type { Outcome } from './real.js';
import type { Run } from './run.js';
import { WELL, type Circumstances, type NamedKey, type Told } from './vocabulary.js';

type Command = AsyncCommand<Run, Run>;

/** A client sends a request, maybe after the lease; the attempt may die or stand still. */
export class Request implements Command {
  constructor(
    private readonly slot: number,
    private readonly circumstances: Circumstances,
    private readonly fate: Fate,
    private readonly afterLease: boolean,
  ) {}

  check(): boolean {
    return true;
  }

  async run(run: Run): Promise<void> {
    const key = run.openOrNew(this.slot);
    if (this.afterLease) await lapse(run, key);
    await request(run, key, this.circumstances, this.fate);
  }

  toString(): string {
    const { behaviour, reconciler } = this.circumstances;
    const when = this.afterLease ? ' after its lease' : '';
    return `request in slot ${this.slot}${when}: provider ${behaviour}, reconciler ${reconciler}${describeFate(this.fate)}`;
  }
}

export async function request(
  run: Run,
  key: NamedKey,
  circumstances: Circumstances,
  fate: Fate,
): Promise<void> {
  const honest = run.honest(key, circumstances);
  const expected = run.predict(key, honest, fate);
  expect(await run.real.request(key, honest, fate)).toEqual(expected);
  await run.compare();
}

/** Several clients send the same request at once; the provider is well. */
export class Duplicates implements Command {
  constructor(
    private readonly slot: number,
    private readonly count: number,
    private readonly fate: Fate,
    private readonly afterLease: boolean,
  ) {}

  check(): boolean {
    return true;
  }

  async run(run: Run): Promise<void> {
    const key = run.openOrNew(this.slot);
    if (this.afterLease) await lapse(run, key);
    const circumstances = run.honest(key, WELL);
    const first = run.predict(key, circumstances, this.fate);
    const later = run.predict(key, circumstances, LIVES);
    const told = await run.real.duplicates(key, circumstances, this.fate, this.count);

    const possible: Told[] = [{ kind: 'in_progress' }, ...[first, later].flatMap(answersOf)];
    for (const each of told) expect(possible).toContainEqual(each);
    if (first.kind === 'answered') expect(told).toContainEqual(first.told);
    expect(told).toHaveLength(this.count - (first.kind === 'dies' ? 1 : 0));
    await run.compare();
  }

  toString(): string {
    const when = this.afterLease ? ' after its lease' : '';
    return `${this.count} at once in slot ${this.slot}${when}${describeFate(this.fate)}`;
  }
}

function answersOf(outcome: Outcome): Told[] {
  return outcome.kind === 'answered' ? [outcome.told] : [];
}

/** A stalled attempt continues, as if nothing had happened. */
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
    return `wake number ${this.index}`;
  }
}

/** Nobody renewed the lease in time. */
export async function lapse(run: Run, { name }: NamedKey): Promise<void> {
  if (!run.model.keys.has(name)) return;
  run.model.lapse(name);
  await run.real.lapse(name);
}

/** The time is over for which the provider remembers the effect key; no attempt sleeps for so long. */
export class Forget implements Command {
  constructor(private readonly slot: number) {}

  check(run: Run): boolean {
    const key = run.open(this.slot);
    return key !== undefined && !run.hasStalled(key);
  }

  async run(run: Run): Promise<void> {
    const { name } = run.open(this.slot)!;
    run.model.forget(name);
    await run.real.forget(name);
    await run.compare();
  }

  toString(): string {
    return `forget slot ${this.slot}`;
  }
}

/** Somebody finds out what became of a key whose outcome is unknown. */
export class Resolve implements Command {
  constructor(
    private readonly slot: number,
    private readonly index: number,
  ) {}

  check(run: Run): boolean {
    return run.resolvable().length > 0;
  }

  async run(run: Run): Promise<void> {
    const resolvable = run.resolvable();
    const key = resolvable[this.index % resolvable.length]!;
    const resolved = run.model.resolve(key.name);
    expect(await run.real.resolve(key.name)).toBe(resolved);
    if (resolved) run.reopen(this.slot, key);
    await run.compare();
  }

  toString(): string {
    return `resolve unknown key ${this.index} into slot ${this.slot}`;
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
    return 'deliver';
  }
}
