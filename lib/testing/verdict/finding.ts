import type { ProblemCode } from './cures.js';
import type { Place } from './user-line.js';

/** Something wrong in one run. Findings with the same code and subject have one cause. */
export interface Finding {
  code: ProblemCode;
  /** What it is about: a table, a phase, a host. */
  subject: string;
  /** What happened, where nothing better is known of it. */
  message: string;
  /** What it did in this run: `orders: 2 rows inserted instead of 1`. */
  evidence?: string;
  place?: Place | undefined;
  /** Where the phase around it was started, if the place leads nowhere. */
  around?: Place | undefined;
}
