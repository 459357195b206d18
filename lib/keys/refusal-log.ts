import { Logger } from '@nestjs/common';
import { DataKeyError } from '../encryption/data-key.error.js';
import { UnreadableRecordError } from '../encryption/unreadable-record.error.js';
import { StoreUnavailableError } from '../postgres/store-unavailable.error.js';
import { BurstLog } from '../telemetry/burst-log.js';
import { scopeLabel } from '../telemetry/key-labels.js';
import { databaseWords } from '../postgres/database-words.js';
import type { IdempotencyProblem } from '../answers/problems.js';

/** Logs refusals that operators can act on, one line per burst and route. */
export class RefusalLog {
  private readonly logger = new Logger('IdempotencyModule');
  private readonly misuse = new BurstLog((line) => this.logger.warn(line));
  private readonly outage = new BurstLog((line) => this.logger.error(line));

  /**
   * @param error the cause of the problem
   * @param scope undefined if the request was refused before it was known
   */
  note(problem: IdempotencyProblem, error: unknown, route: string, scope?: string): void {
    const whose = () => (scope === undefined ? route : `${route} (scope ${scopeLabel(scope)})`);
    if (problem.code === 'key_reused') {
      this.misuse.note(
        route,
        () =>
          `${whose()}: a request was refused, because its Idempotency-Key was used before with another request. ` +
          'A client uses keys twice, or changes the request between its retries.',
      );
    } else if (problem.code === 'rate_limited') {
      const limit = String(problem.members.limit);
      this.misuse.note(
        `${route} ${limit}`,
        () =>
          `${whose()}: a new key was refused with 429, because its scope is over limits.${limit}.`,
      );
    } else if (problem.code === 'store_unavailable') {
      // Only the database's own message tells an outage from missing rights or a standby.
      const ofEncryption = error instanceof UnreadableRecordError || error instanceof DataKeyError;
      const ofStore = error instanceof StoreUnavailableError && !ofEncryption;
      this.outage.note(
        `${route} ${ofStore ? 'database' : ofEncryption ? error.message : problem.detail}`,
        () =>
          `${whose()}: a request was refused with 503. ${problem.detail}` +
          (ofStore ? ` The database says: ${databaseWords(error)}` : '') +
          (ofEncryption ? ` ${error.message}` : ''),
      );
    }
  }
}
