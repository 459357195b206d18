import type { EntryKind } from '../policy/handler-kinds.js';
import type { IdempotencyPolicy } from '../policy/policy.js';

/** A place where a caller can change something. */
export interface EntryPoint {
  kind: 'http' | EntryKind;
  /** `POST /orders`, the pattern of a message, or the name of a mutation. */
  name: string;
  /** Class and method. */
  handler: string;
  coverage: Coverage;
  /** Of an exempt one: what `@NotIdempotent()` was given. */
  reason?: string | undefined;
  /** Of an idempotent one: what its own decorators say. The module's policy is the default. */
  policy?: IdempotencyPolicy | undefined;
}

export type Coverage =
  /** `@Idempotent()`. */
  | 'idempotent'
  /** PUT and DELETE: HTTP's own rules ask the application to bear a repetition. */
  | 'by_method'
  /** `@NotIdempotent()`. */
  | 'exempt'
  /** Nobody has said anything: a retry takes effect twice. */
  | 'missing';

const WORDS: Record<Coverage, string> = {
  idempotent: 'idempotent',
  by_method: 'by its method',
  exempt: 'exempt',
  missing: 'MISSING',
};

/** One line for each, the missing ones first. */
export function tableOf(entries: readonly EntryPoint[]): string {
  const rows = entries
    .toSorted((one, other) => rank(one) - rank(other))
    .map((entry) => [WORDS[entry.coverage], entry.name, entry.handler, noteOf(entry)]);
  const widths = [0, 1, 2].map((column) => Math.max(0, ...rows.map((row) => row[column]!.length)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function rank({ coverage }: EntryPoint): number {
  return coverage === 'missing' ? 0 : 1;
}

function noteOf({ reason, policy }: EntryPoint): string {
  if (reason !== undefined) return reason;
  return Object.entries(policy ?? {})
    .map(
      ([name, value]) => `${name}: ${typeof value === 'function' ? '(function)' : String(value)}`,
    )
    .join(', ');
}
