import type { ProblemCode } from './verdict/cures.js';
import { VerificationError, type Problem } from './verification-error.js';

/** An answer as the kit's client received it. */
export interface KitAnswer {
  status: number;
  contentType: string | null;
  body: Buffer;
}

/** What one run changed in a table of the application. */
export interface TableTally {
  inserted: number;
  updated: number;
  deleted: number;
}

/** Outgoing calls of one run, to one destination, from one place. */
export interface OutgoingTally {
  /** Method and origin, or host and port of a socket. */
  to: string;
  /** The phase around it; undefined outside any. */
  phase: string | undefined;
  count: number;
  /** Whether each of them carried the phase's effect key. */
  effectKey: boolean;
}

/** What became of one key. */
export interface CrashSafetyRun {
  /** What was done to it: `undisturbed`, `crash at charge_created:after_call`, … */
  disturbance: string;
  /** Where the process died; undefined where it did not. */
  crashedAt: string | undefined;
  key: string;
  outcome: 'final' | 'unknown' | 'stuck';
  answer: KitAnswer | undefined;
  /** Requests sent, the one that was disturbed included. */
  requests: number;
  /** The phases, in the order in which they were finished. */
  phases: string[];
  /** How often each phase was committed. */
  commits: Record<string, number>;
  /** How often each foreign phase was begun, under which effect keys. */
  calls: Record<string, { effectKey: string; count: number }[]>;
  /** What the run changed in the application's tables, and how many messages it added to the outbox. */
  changes: Record<string, TableTally>;
  outgoing: OutgoingTally[];
  /** How the counts of `observe` changed. */
  observed: Record<string, number>;
  /** Codes of the problems that show in this run; empty where it is crash-safe. */
  problems: string[];
  /** In milliseconds. */
  duration: number;
}

/** One cause, however many runs show it. */
export interface CrashSafetyProblem extends Problem<ProblemCode> {
  /** The line of your code that it leads to, if it is known: `src/orders.service.ts:42:11`. */
  line: string | undefined;
  /** The lines of your code that called it, nearest first. */
  from: string[];
}

export interface CrashSafetyReport {
  /** Whether there is no problem. */
  safe: boolean;
  runs: CrashSafetyRun[];
  problems: CrashSafetyProblem[];
  /** What the kit could not see or did not do, and what is worth knowing. */
  notes: string[];
  /** Disturbances of the plan that were left out, because there were more than `runs`. */
  skipped: string[];
  /** The runs as a table, to print. */
  table: string;
  /** Plain data, for a file: bodies of answers are texts. */
  toJSON(): object;
}

/** The endpoint is not crash-safe. The message has the problems and the table of all runs. */
export class CrashSafetyError extends VerificationError<ProblemCode> {
  constructor(readonly report: CrashSafetyReport) {
    super('Not crash-safe', report.problems, report.table, report.notes);
    Object.defineProperty(this, 'report', { enumerable: false });
  }
}
