import { hash } from 'node:crypto';
import type { OfKey } from './events.js';

/** The option `describeScope`: turns a scope into a label. */
export type DescribeScope = (scope: string) => string;

/** Long enough to tell keys apart, and too short to find a key from it. */
const HASH_LENGTH = 8;

/** A label is for people; a longer one is a mistake in `describeScope`. */
const LONGEST_LABEL = 200;

let described: { by: DescribeScope; modules: number } | undefined;

/**
 * Sets what logs, events and metrics of the whole process show of scopes.
 *
 * @returns a function that undoes it; undefined if the process already has another one
 */
export function describeScopesWith(by: DescribeScope): (() => void) | undefined {
  if (described && described.by !== by) return undefined;
  const current = (described ??= { by, modules: 0 });
  current.modules += 1;
  return () => {
    current.modules -= 1;
    if (current.modules === 0) described = undefined;
  };
}

/** The label of a scope: from `describeScope`, or a short hash. */
export function scopeLabel(scope: string): string {
  if (described) {
    try {
      const label: unknown = described.by(scope);
      if (typeof label === 'string') return label.slice(0, LONGEST_LABEL);
    } catch {
      // The label is only for people; nothing depends on it.
    }
  }
  return scope === '' ? 'global' : hash('sha256', scope).slice(0, HASH_LENGTH);
}

type Name = Record<'scope' | 'endpoint' | 'key', string>;

/** The same for every request of a key, in every process, so that log lines can be matched. */
export function keyHash({ scope, endpoint, key }: Name): string {
  // None of the three can contain a NUL.
  return hash('sha256', `${scope}\0${endpoint}\0${key}`).slice(0, HASH_LENGTH);
}

/** What an event shows of a key. */
export function ofKey<Id extends string | undefined>(name: Name & { id?: Id }): OfKey & { id: Id } {
  return { id: name.id as Id, scope: scopeLabel(name.scope), key: keyHash(name) };
}
