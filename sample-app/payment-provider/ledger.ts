import { mkdir, open, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';

export interface ChargeRequest {
  amount: number;
  currency: string;
  card: string;
  description: string;
}

export interface TransferRequest {
  amount: number;
  currency: string;
  recipient: string;
  description: string;
}

export interface ReceiptRequest {
  email: string;
  amount: number;
  currency: string;
  description: string;
}

interface Booking {
  id: string;
  /** Why no money moved; absent where it did. */
  declined?: string;
  createdAt: string;
}

export interface ChargeEntry extends Booking, ChargeRequest {
  kind: 'charge';
  idempotencyKey: string;
}

export interface TransferEntry extends Booking, TransferRequest {
  kind: 'transfer';
}

/** A receipt that was mailed. */
export interface ReceiptEntry extends Booking, ReceiptRequest {
  kind: 'receipt';
  idempotencyKey: string;
}

export type LedgerEntry = ChargeEntry | TransferEntry | ReceiptEntry;

/**
 * The provider's books: one JSON line per entry, only ever appended to, and on
 * the disk before the caller hears of it. Money that moved stays moved, whoever
 * crashes next.
 */
export class Ledger {
  /** Appends go one after another: two writes at once could tear each other's lines. */
  private lastAppend: Promise<void> = Promise.resolve();

  private constructor(
    private readonly file: FileHandle,
    readonly entries: LedgerEntry[],
  ) {}

  static async open(path: string): Promise<Ledger> {
    await mkdir(dirname(path), { recursive: true });
    const file = await open(path, 'a+');
    const content = await file.readFile('utf8');
    // A line without its end was cut off by a crash. Nobody was told about it,
    // and the next entry would be glued to it.
    const complete = content.slice(0, content.lastIndexOf('\n') + 1);
    await file.truncate(Buffer.byteLength(complete));
    const entries = complete.split('\n').filter((line) => line !== '');
    return new Ledger(
      file,
      entries.map((line) => JSON.parse(line) as LedgerEntry),
    );
  }

  append(entry: LedgerEntry): Promise<void> {
    this.lastAppend = this.lastAppend.then(async () => {
      await this.file.appendFile(`${JSON.stringify(entry)}\n`);
      await this.file.datasync();
      this.entries.push(entry);
    });
    return this.lastAppend;
  }

  async close(): Promise<void> {
    await this.lastAppend;
    await this.file.close();
  }
}
