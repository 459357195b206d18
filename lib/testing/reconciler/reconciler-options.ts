import type { DoubtfulEffect } from '../../phases/reconciler.js';
import type { Duration } from '../../policy/duration.js';
import type { Problem } from '../verification-error.js';
import type { Counts } from '../changes/effect-watch.js';

export interface ReconcilerOptions {
  /** Which `@Reconciler()`. */
  recoveryPoint: string;

  /** What the phase gives as `request`, or what makes one for each run. */
  request?: unknown;

  /**
   * Makes the call in the other system, as the phase does it, and returns what
   * its `call` returns: what the reconciler has to find.
   */
  execute: (effect: Pick<DoubtfulEffect, 'idempotencyKey' | 'request'>) => unknown;

  /**
   * Makes the other system fail or unreachable, and returns what repairs it.
   * Without it, the answers meanwhile are not verified.
   */
  breakProvider?: () => (() => unknown) | Promise<() => unknown>;

  /**
   * How long the other system may be busy with a call that it does not show yet.
   * Before that, "not found" is no proof that nothing happened. 0: it is, at once.
   * @default '30d'
   */
  settledAfter?: Duration;

  /** Counts of what happens outside the database, which asking must not change: charges, transfers. */
  observe?: () => Counts | Promise<Counts>;

  /** Tables and columns that a question may change, such as a log. */
  ignore?: readonly string[];

  /**
   * How long one answer may take, in milliseconds.
   * @default 10000
   */
  timeout?: number;
}

export type ReconcilerProblemCode =
  /** Asking changed something. */
  | 'performs_effects'
  /** It says more than anybody can know. */
  | 'guesses'
  /** A call that was executed is not found, or denied. */
  | 'not_found'
  /** It takes another call for the one it was asked about. */
  | 'wrong_call'
  /** The result is not what the call returned. */
  | 'other_result'
  /** The same question got two answers. */
  | 'unstable'
  /** What it answers is no answer. */
  | 'invalid_answer'
  /** It throws, or does not answer in time, although nothing is wrong. */
  | 'no_answer'
  /** What it answered does not get on record. */
  | 'not_recorded'
  /** `observe` does not see what `execute` does. */
  | 'not_observed';

/** One question, and what was answered. */
export interface ReconcilerRun {
  name: string;
  /** `executed`, `rejected`, `not_executed`, `unknown`; `error`, `invalid` or `timeout` where there was none. */
  answer: string;
}

export interface ReconcilerReport {
  runs: ReconcilerRun[];
  /** What was not verified, and why. */
  skipped: string[];
  /** Empty: otherwise the verification rejects. */
  problems: Problem<ReconcilerProblemCode>[];
  /** The runs as a table, to print. */
  table: string;
}
