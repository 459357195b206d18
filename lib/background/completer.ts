import { Logger } from '@nestjs/common';
import { errorLine } from '../telemetry/error-line.js';
import type { KeyTransitions } from '../keys/key-transitions.js';
import type { CompleterStore, OpenOperation } from './completer-store.js';
import type { Work } from './job.js';
import type { OperationRunner } from './operation-runner.js';
import type { Operations } from '../phases/resumable.js';

/**
 * Completes operations whose client did not come back, or was told not to wait.
 * They run concurrently: a slow one does not hold up the others.
 */
export class Completer implements Work {
  private readonly logger = new Logger('IdempotencyMaintenance');
  private readonly reported = new Set<string>();
  private readonly underWay = new Set<Promise<void>>();
  /** The last claim was full. */
  private more = false;
  private closed = false;

  /** @param wake asks for another run, because there is capacity and perhaps work */
  constructor(
    private readonly store: CompleterStore,
    private readonly transitions: KeyTransitions,
    private readonly operations: Operations,
    private readonly runner: OperationRunner,
    private readonly maxAttempts: number,
    /** How long a claim excludes other processes, until the attempt has its own lease. */
    private readonly claim: number,
    private readonly wake: () => void,
  ) {}

  /** Begins operations until `most` are running, and does not wait for them. */
  async run(most: number): Promise<number> {
    await this.reportStrangers();
    const { names } = this.operations;
    const room = most - this.underWay.size;
    if (this.closed || room <= 0 || names.length === 0) return 0;
    const found = await this.store.claimOperations(names, this.claim, room);
    // What is claimed and not begun is found again when the claim ends.
    if (this.closed) return 0;
    this.more = found.length === room;
    for (const key of found) this.begin(key);
    return found.length;
  }

  /** Resolves when everything begun so far has ended. */
  async settled(): Promise<void> {
    await Promise.all(this.underWay);
  }

  /** Nothing new begins. Shutdown waits for attempts as long as they hold their leases. */
  async close(): Promise<void> {
    this.closed = true;
  }

  private begin(key: OpenOperation): void {
    const exhausted = key.resumeAttempts >= this.maxAttempts;
    const attempt = (exhausted ? this.giveUp(key) : this.runner.run(key))
      .catch((error: unknown) => {
        this.logger.error(
          `Idempotency key ${key.id} could not be completed and will be tried again: ${errorLine(error)}`,
        );
      })
      .finally(() => {
        this.underWay.delete(attempt);
        if (this.more) this.wake();
      });
    this.underWay.add(attempt);
  }

  /** Its client failed again after the last attempt of a worker, or the workers died. */
  private async giveUp(key: OpenOperation): Promise<void> {
    if ((await this.transitions.giveUpOperation(key)) !== 'changed') return;
    this.logger.error(
      `Operation "${key.operation}" (idempotency key ${key.id}) is given up after ${key.resumeAttempts} attempt(s) of workers. ` +
        'Find out why it fails, and give it another round with IdempotencyOperator.retry().',
    );
  }

  private async reportStrangers(): Promise<void> {
    const { names } = this.operations;
    for (const { operation, count } of await this.store.strangeOperations(names)) {
      if (this.reported.has(operation)) continue;
      this.reported.add(operation);
      this.logger.warn(
        `${count} idempotency key(s) wait for operation "${operation}", which this process does not have. ` +
          'They are kept; deploy a @Resumable() with that name, or resolve them by hand.',
      );
    }
  }
}
