import { inspect } from 'node:util';
import type { LoggerService } from '@nestjs/common';

export interface RecordingLogger extends LoggerService {
  warnings: string[];
  errors: string[];
  /** Every argument of every call, on all levels, as a logger would print it at its most talkative. */
  everything: string[];
}

/** A logger that keeps what an application says, for tests about hints to the developer. */
export function recordingLogger(): RecordingLogger {
  const warnings: string[] = [];
  const errors: string[] = [];
  const everything: string[] = [];
  const keep = (list: string[]) => {
    return (message: unknown, ...rest: unknown[]) => {
      list.push(String(message));
      for (const each of [message, ...rest]) {
        everything.push(typeof each === 'string' ? each : inspect(each, { depth: 10 }));
      }
    };
  };
  const others = keep([]);
  return {
    warnings,
    errors,
    everything,
    log: others,
    debug: others,
    verbose: others,
    warn: keep(warnings),
    error: keep(errors),
    fatal: others,
  };
}
