import { randomUUID } from 'node:crypto';

/** The body that every contender gets. */
export interface Payment {
  amount: number;
  currency: string;
  reference: string;
  customer: { id: string; name: string; email: string };
  /** Filled to size where the size of bodies is what is measured. */
  note?: string;
}

/** What every contender answers with. A second run shows in the id, so a replay can be told from it. */
export function accept({ amount, currency, reference, note }: Payment) {
  return {
    id: randomUUID(),
    object: 'payment',
    status: 'accepted',
    amount,
    currency,
    reference,
    note,
  };
}
