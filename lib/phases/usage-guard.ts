import { Logger } from '@nestjs/common';
import { isMisuseWatched, noticeMisuse, type MisuseCode } from '../telemetry/misuse.js';
import { ReportedOnce } from '../telemetry/reported-once.js';
import { requestContext, type RequestContext } from './request-context.js';
import { PhaseUsageError } from '../policy/phase-errors.js';

/** What to do about a use of phases that is not safe in a crash. */
export type GuardMode = 'ignore' | 'warn' | 'throw';

export interface Mistake {
  code: MisuseCode;
  /** There is one warning for each of these; it does not include what differs between requests. */
  name: string;
  message: string;
  /** It is an effect that no phase protects: never accepted on a phased route. */
  unprotected: boolean;
  /** Of a call: where it goes, with its port. */
  origin?: string;
}

/** Warns once per route and mistake, or throws an error for each. */
export class UsageGuard {
  private readonly logger = new Logger('AtomicPhase');
  private readonly warned = new ReportedOnce();

  constructor(readonly mode: GuardMode) {}

  /** The context of the running code, if it is to be checked. */
  get watched(): RequestContext | undefined {
    const context = requestContext.current;
    if (!context || context.guard !== this || context.unguarded) return undefined;
    return context.phased || this.mode !== 'ignore' || isMisuseWatched() ? context : undefined;
  }

  /** The error to throw: in mode `'throw'`, and for an unprotected effect on a phased route. */
  report(context: RequestContext, mistake: Mistake): PhaseUsageError | undefined {
    const { route, phased, journal } = context;
    const message = `${route} ${mistake.message}`;
    const { code, origin } = mistake;
    // Timers and connections keep the context of a handler that has long ended.
    if (phased && mistake.unprotected && !journal.closed) {
      return new PhaseUsageError(
        `${message} What is phased is run again from its top after a crash, so there this is an error in every environment.`,
        { code },
      );
    }
    if (this.mode === 'throw') return new PhaseUsageError(message, { code });
    noticeMisuse({ code, message, origin });
    if (this.mode === 'warn') this.warnOnce(`${route} ${mistake.name}`, message);
    return undefined;
  }

  warnOnce(name: string, message: string): void {
    if (this.warned.isNew(name)) this.logger.warn(message);
  }
}
