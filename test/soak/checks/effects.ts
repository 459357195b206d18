import { isBrief } from '../clients/errand.js';
import { finalAnswer, type Journal, type KeyHistory } from '../clients/journal.js';
import type { World } from '../world/world.js';
import type { Violation } from './violation.js';

interface Traces {
  key: string;
  /** Null: it is gone. */
  status: string | null;
  responseStatus: number | null;
  orders: number;
  charges: string[];
  receipts: number;
  books: number;
}

/** One charge per key, rows equal to the ledger, and nothing that belongs to no key. */
export async function checkEffects(world: World, journal: Journal): Promise<Violation[]> {
  const rows = await world.database.query<Traces>(
    `SELECT given.key, k.status, k.response_status AS "responseStatus",
            (SELECT count(*)::int FROM orders o WHERE o.key = given.key) AS "orders",
            ARRAY(SELECT id FROM charges c WHERE c.key = given.key) AS "charges",
            (SELECT count(*)::int FROM receipts r WHERE r.key = given.key) AS "receipts",
            (SELECT count(*)::int FROM books b WHERE b.key = given.key) AS "books"
     FROM unnest($1::text[]) AS given (key) LEFT JOIN idempotency_keys k USING (key)`,
    [[...journal.keys.keys()]],
  );
  const booked = await paymentsByKey(world);
  const violations: Violation[] = [];
  for (const row of rows) {
    const { key, status, orders, charges, receipts, books } = row;
    const paid = booked.get(key) ?? [];
    const actual = {
      status,
      orders,
      charges: charges.length,
      receipts,
      isBookedTwice: books > 1,
      rowsEqualLedger: JSON.stringify(charges) === JSON.stringify(paid),
    };
    const expected = {
      ...expectedOf(row, journal.keys.get(key)!),
      isBookedTwice: false,
      rowsEqualLedger: true,
    };
    if (JSON.stringify(actual) !== JSON.stringify(expected)) {
      const what = status === expected.status ? 'the effects of a key are wrong' : 'a key is lost';
      violations.push({ what, key, details: { ...row, paid } });
    }
  }
  for (const key of booked.keys()) {
    if (!journal.keys.has(key)) violations.push({ what: 'a payment belongs to no key', key });
  }
  return violations;
}

interface Expected {
  status: string | null;
  orders: number;
  charges: number;
  receipts: number;
}

function expectedOf({ responseStatus, orders, receipts }: Traces, history: KeyHistory): Expected {
  if (!isBrief(history.errand)) return { status: 'completed', ...effects(responseStatus === 201) };
  const told = finalAnswer(history);
  if (told) return { status: null, ...effects(told.status === 201) };
  // Its client left without an answer: it was done as a whole, or never begun.
  return orders === 0
    ? { status: null, orders: 0, charges: 0, receipts: 0 }
    : { status: null, ...effects(receipts > 0) };
}

/** A card that is declined leaves an order, and nothing else. */
function effects(isPaid: boolean): Omit<Expected, 'status'> {
  return { orders: 1, charges: isPaid ? 1 : 0, receipts: isPaid ? 1 : 0 };
}

/** What moved money in the provider's books, by the key that it is for. */
async function paymentsByKey({ provider }: World): Promise<Map<string, string[]>> {
  const entries = [...(await provider.control.charges()), ...(await provider.control.transfers())];
  const payments = new Map<string, string[]>();
  for (const { id, description, declined } of entries) {
    if (declined !== undefined) continue;
    payments.set(description, [...(payments.get(description) ?? []), id]);
  }
  return payments;
}
