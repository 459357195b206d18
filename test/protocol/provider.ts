/** What becomes of one request to the provider. */
export const BEHAVIOURS = [
  'charges',
  'declines',
  /** Nobody listens: the request has certainly not arrived. */
  'refuses_connection',
  /** The request is lost, and the caller only sees that no answer comes. */
  'loses_request',
  /** It charges, and the answer is lost: the caller sees the same. */
  'loses_answer',
  /** The caller has given up long before the request arrives. */
  'arrives_late',
] as const;

export type Behaviour = (typeof BEHAVIOURS)[number];

export interface Entry {
  id: number;
  idempotencyKey: string;
  declined: boolean;
}

/** What the caller sees. */
export type Reply = Entry | 'not_reached' | 'no_answer';

/**
 * The other system, in memory: it charges once per key, until it forgets the
 * key. The model and the real application have one each.
 */
export class Provider {
  /** Its books. Nothing is ever taken out. */
  readonly ledger: Entry[] = [];
  private readonly remembered = new Map<string, Entry>();
  private onTheWay: string[] = [];

  copy(): Provider {
    const copy = new Provider();
    copy.ledger.push(...this.ledger);
    for (const [key, entry] of this.remembered) copy.remembered.set(key, entry);
    copy.onTheWay = [...this.onTheWay];
    return copy;
  }

  /** Two providers with the same text behave the same from here on. */
  toString(): string {
    return JSON.stringify([this.ledger, [...this.remembered.keys()], this.onTheWay]);
  }

  charge(idempotencyKey: string, behaviour: Behaviour): Reply {
    switch (behaviour) {
      case 'refuses_connection':
        return 'not_reached';
      case 'loses_request':
        return 'no_answer';
      case 'arrives_late':
        this.onTheWay.push(idempotencyKey);
        return 'no_answer';
      case 'loses_answer':
        this.book(idempotencyKey, false);
        return 'no_answer';
      default:
        return this.book(idempotencyKey, behaviour === 'declines');
    }
  }

  /** What is still on its way arrives. */
  deliver(): void {
    for (const idempotencyKey of this.onTheWay.splice(0)) this.book(idempotencyKey, false);
  }

  /** The time for which it remembers a key is over. No request takes longer than that. */
  forget(idempotencyKey: string): void {
    if (this.onTheWay.includes(idempotencyKey)) {
      this.onTheWay = this.onTheWay.filter((key) => key !== idempotencyKey);
      this.book(idempotencyKey, false);
    }
    this.remembered.delete(idempotencyKey);
  }

  /** For a reconciler: undefined is certain, because what is on its way counts as pending. */
  lookUp(idempotencyKey: string): Entry | 'pending' | undefined {
    if (this.onTheWay.includes(idempotencyKey)) return 'pending';
    return this.ledger.find((entry) => entry.idempotencyKey === idempotencyKey);
  }

  charges(idempotencyKey: string): Entry[] {
    return this.ledger.filter(
      (entry) => entry.idempotencyKey === idempotencyKey && !entry.declined,
    );
  }

  private book(idempotencyKey: string, declined: boolean): Entry {
    let entry = this.remembered.get(idempotencyKey);
    if (!entry) {
      entry = { id: this.ledger.length + 1, idempotencyKey, declined };
      this.ledger.push(entry);
      this.remembered.set(idempotencyKey, entry);
    }
    return entry;
  }
}
