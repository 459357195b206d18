import { Logger } from '@nestjs/common';
import { PhaseUsageError } from './phase-errors.js';

/** What to do about a use of phases that a crash would turn into harm. */
export type GuardMode = 'ignore' | 'warn' | 'throw';

/** Warns once per route and mistake, or makes an error of each. */
export class UsageGuard {
  private readonly logger = new Logger('AtomicPhase');
  private readonly warned = new Set<string>();

  constructor(readonly mode: Exclude<GuardMode, 'ignore'>) {}

  /** The error to fail with, in mode `'throw'`. */
  report(mistake: string, message: string): PhaseUsageError | undefined {
    if (this.mode === 'throw') return new PhaseUsageError(message);
    if (!this.warned.has(mistake)) {
      this.warned.add(mistake);
      this.logger.warn(message);
    }
    return undefined;
  }
}
