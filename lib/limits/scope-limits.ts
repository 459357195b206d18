import { Logger } from '@nestjs/common';
import { BurstLog } from '../telemetry/burst-log.js';
import { errorLine } from '../telemetry/error-line.js';
import { scopeLabel } from '../telemetry/key-labels.js';
import { resolveLimits, type ResolvedLimits } from './resolve-limits.js';
import { ScopeMemory } from './scope-memory.js';

/** What a function returned holds for this long: it may have to ask a database. */
const VALID_FOR = 10_000;

const WHERE = 'the function in the limits option';

interface Remembered {
  limits: ResolvedLimits | Promise<ResolvedLimits | undefined>;
  /** By performance.now(). */
  until: number;
}

/** The limits of each scope: the same for all, or what a function says. */
export class ScopeLimits {
  private readonly log = new BurstLog((line) => new Logger('IdempotencyModule').error(line));
  private readonly remembered = new ScopeMemory<Remembered>(
    ({ until }) => performance.now() >= until,
  );

  constructor(private readonly option: ResolvedLimits | ((scope: string) => unknown)) {}

  /** Undefined: they are not known, because the function failed. The next request asks it again. */
  of(scope: string): ResolvedLimits | Promise<ResolvedLimits | undefined> {
    const { option } = this;
    if (typeof option !== 'function') return option;
    const known = this.remembered.get(scope);
    if (known && performance.now() < known.until) return known.limits;
    const asked = this.ask(option, scope);
    const entry: Remembered = { limits: asked, until: performance.now() + VALID_FOR };
    this.remembered.set(scope, entry);
    void asked.then((limits) => {
      if (limits) entry.limits = limits;
      else entry.until = 0;
    });
    return asked;
  }

  private async ask(
    limitsOf: (scope: string) => unknown,
    scope: string,
  ): Promise<ResolvedLimits | undefined> {
    try {
      return resolveLimits(WHERE, await limitsOf(scope));
    } catch (error) {
      this.log.note(
        'limits',
        () =>
          `The limits of a scope are not known, so its new keys are refused with 503 (scope ${scopeLabel(scope)}): ${errorLine(error)}`,
      );
      return undefined;
    }
  }
}
