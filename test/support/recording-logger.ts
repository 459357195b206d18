import type { LoggerService } from '@nestjs/common';

export interface RecordingLogger extends LoggerService {
  warnings: string[];
  errors: string[];
}

/** A logger that keeps what an application says, for tests about hints to the developer. */
export function recordingLogger(): RecordingLogger {
  const warnings: string[] = [];
  const errors: string[] = [];
  return {
    warnings,
    errors,
    log: () => undefined,
    warn: (message: unknown) => void warnings.push(String(message)),
    error: (message: unknown) => void errors.push(String(message)),
  };
}
