import { Logger } from '@nestjs/common';
import type { ErrorCode } from '../schema/error-code.js';
import type { KeyName } from '../schema/key-name.js';
import { BurstLog } from '../telemetry/burst-log.js';
import { ofKey, scopeLabel } from '../telemetry/key-labels.js';
import { publish } from '../telemetry/publish.js';

/**
 * Reports keys whose outcome has become unknown: an event for each, and a line
 * per burst and reason.
 */
export class UnknownOutcomes {
  private readonly logger = new Logger('IdempotencyModule');
  private readonly log = new BurstLog((line) => this.logger.warn(line));

  /** @param route undefined if a job found it */
  note(key: KeyName & { id: string }, why: ErrorCode, route?: string): void {
    publish('became_unknown', () => ({ ...ofKey(key), route, why }));
    this.log.note(
      `${why} ${route ?? ''}`,
      () =>
        `${route === undefined ? '' : `${route}: `}the outcome of idempotency key ${key.id} (scope ${scopeLabel(key.scope)}) is unknown (${why}) and has to be found out.`,
    );
  }
}
