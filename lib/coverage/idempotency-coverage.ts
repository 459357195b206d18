import { Injectable, Logger } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { IdempotencyConfigurationError } from '../policy/configuration-error.js';
import { tableOf, type EntryPoint } from './entry-point.js';
import { entryPointsOf } from './entry-points.js';

/** What to do at boot about entry points that nobody has decided on. */
export type CoverageMode = 'ignore' | 'warn' | 'error';

/** Lists where callers can change something, and whether a retry is safe there. */
@Injectable()
export class IdempotencyCoverage {
  private readonly logger = new Logger('IdempotencyModule');

  constructor(private readonly modules: ModulesContainer) {}

  /** Every route, message handler and mutation that changes something. */
  get entries(): EntryPoint[] {
    return entryPointsOf(this.modules.values());
  }

  /** Those that have neither `@Idempotent()` nor `@NotIdempotent()`. */
  get missing(): EntryPoint[] {
    return this.entries.filter(({ coverage }) => coverage === 'missing');
  }

  /** For people, one line each, the missing ones first. */
  table(): string {
    return tableOf(this.entries);
  }

  /** For machines. Functions of policies are left out. */
  toJSON(): EntryPoint[] {
    return JSON.parse(JSON.stringify(this.entries)) as EntryPoint[];
  }

  /** At boot. */
  check(mode: CoverageMode): void {
    const missing = mode === 'ignore' ? [] : this.missing;
    if (missing.length === 0) return;
    const message =
      `${missing.length === 1 ? 'one entry point changes' : `${missing.length} entry points change`} something and would do so again for a retry:\n${tableOf(missing)}\n` +
      "Put @Idempotent() on each, or @NotIdempotent('the reason') where a repetition is harmless.";
    if (mode === 'error') throw new IdempotencyConfigurationError(`coverage: ${message}`);
    this.logger.warn(`Coverage: ${message}`);
  }
}
