import { Logger } from '@nestjs/common';
import type { ColumnCipher, ColumnCiphers } from '../encryption/column-cipher.js';
import type { DataKeyRotation } from '../encryption/data-key-rotation.js';
import { UnreadableRecordError } from '../encryption/unreadable-record.error.js';
import { errorLine } from '../telemetry/error-line.js';
import type { Place, ReencryptionStore } from './reencryption-store.js';
import { sealedEntry, sealedKey, sealedMessage, sealedPhase } from './sealed-rows.js';

/** What `reencrypt()` did, and what it left. */
export interface ReencryptReport {
  /** Data keys that are wrapped by the first master key now. */
  rewrapped: number;
  /** Rows whose plaintext is sealed now. */
  sealed: number;
  /** Rows that were locked or changed meanwhile, or may not be changed. Run it again for them. */
  left: number;
  /** Data keys and rows that could not be read. */
  unreadable: number;
}

type Seal<Row> = (row: Row, cipher: ColumnCipher) => Row;
type Replace<Row> = (was: Row, now: Row) => Promise<boolean>;

/**
 * Wraps data keys with the first master key, and seals what is still plaintext,
 * row by row, while requests come in. It can be interrupted and run again.
 */
export class Reencryption {
  private readonly logger = new Logger('IdempotencyOperator');

  constructor(
    private readonly store: ReencryptionStore,
    private readonly ciphers: ColumnCiphers,
    private readonly rotation: DataKeyRotation,
  ) {}

  async run(): Promise<ReencryptReport> {
    const rotated = await this.rotation.run();
    const report: ReencryptReport = { ...rotated, sealed: 0, left: 0 };
    await this.keysAndPhases(report);
    const { store } = this;
    await this.walk(
      (after) => store.plainMessages(after),
      (rows) =>
        this.sealAll(rows, sealedMessage, (was, now) => store.replaceMessage(was, now), report),
    );
    await this.walk(
      (after) => store.plainEntries(after),
      (rows) => this.sealAll(rows, sealedEntry, (was, now) => store.replaceEntry(was, now), report),
    );
    return report;
  }

  /** Along the ids of the keys, a stretch at a time. */
  private async keysAndPhases(report: ReencryptReport): Promise<void> {
    const { store } = this;
    let after = '0';
    for (;;) {
      const last = await store.endOfStretch(after);
      if (last === undefined) return;
      const phases = await store.plainPhases(after, last);
      await this.sealAll(phases, sealedPhase, (was, now) => store.replacePhase(was, now), report);
      let from = after;
      for (;;) {
        const keys = await store.plainKeys(from, last);
        if (keys.length === 0) break;
        await this.sealAll(keys, sealedKey, (was, now) => store.replaceKey(was, now), report);
        from = keys.at(-1)!.id;
      }
      after = last;
    }
  }

  private async walk<Row extends { scope: string; id: string }>(
    find: (after: Place) => Promise<Row[]>,
    seal: (rows: Row[]) => Promise<void>,
  ): Promise<void> {
    let after: Place = null;
    for (;;) {
      const rows: Row[] = await find(after);
      const last = rows.at(-1);
      if (!last) return;
      await seal(rows);
      after = { scope: last.scope, id: last.id };
    }
  }

  private async sealAll<Row extends { scope: string }>(
    rows: readonly Row[],
    seal: Seal<Row>,
    replace: Replace<Row>,
    report: ReencryptReport,
  ): Promise<void> {
    for (const row of rows) {
      try {
        const sealed = seal(row, await this.ciphers.of(row.scope));
        report[(await replace(row, sealed)) ? 'sealed' : 'left'] += 1;
      } catch (error) {
        report[error instanceof UnreadableRecordError ? 'unreadable' : 'left'] += 1;
        this.logger.warn(`reencrypt() could not seal a row: ${errorLine(error)}`);
      }
    }
  }
}
