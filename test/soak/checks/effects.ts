import type { Journal } from '../clients/journal.js';
import type { World } from '../world/world.js';
import type { Violation } from './violation.js';

interface Traces {
  key: string;
  status: string;
  responseStatus: number | null;
  orders: number;
  charges: string[];
  receipts: number;
  books: number;
}

/** One charge per key, rows equal to the ledger, and nothing that belongs to no key. */
export async function checkEffects(world: World, journal: Journal): Promise<Violation[]> {
  const rows = await world.database.query<Traces>(
    `SELECT k.key, k.status, k.response_status AS "responseStatus",
            (SELECT count(*)::int FROM orders o WHERE o.key = k.key) AS "orders",
            ARRAY(SELECT id FROM charges c WHERE c.key = k.key) AS "charges",
            (SELECT count(*)::int FROM receipts r WHERE r.key = k.key) AS "receipts",
            (SELECT count(*)::int FROM books b WHERE b.key = k.key) AS "books"
     FROM idempotency_keys k`,
  );
  const booked = await paymentsByKey(world);
  const violations: Violation[] = [];
  const found = new Set(rows.map(({ key }) => key));
  for (const key of journal.keys.keys()) {
    if (!found.has(key)) violations.push({ what: 'a key is lost', key });
  }
  for (const row of rows) {
    const { key, status, responseStatus, orders, charges, receipts, books } = row;
    const paid = booked.get(key) ?? [];
    const isPaid = responseStatus === 201;
    const expected = {
      status: 'completed',
      orders: 1,
      charges: isPaid ? 1 : 0,
      receipts: isPaid ? 1 : 0,
      isBookedTwice: false,
      rowsEqualLedger: true,
    };
    const actual = {
      status,
      orders,
      charges: charges.length,
      receipts,
      isBookedTwice: books > 1,
      rowsEqualLedger: JSON.stringify(charges) === JSON.stringify(paid),
    };
    if (JSON.stringify(actual) !== JSON.stringify(expected)) {
      violations.push({ what: 'the effects of a key are wrong', key, details: { ...row, paid } });
    }
  }
  const [left] = await world.database.query<{ phases: number }>(
    `SELECT count(*)::int AS phases FROM idempotency_phases p
     WHERE NOT EXISTS (SELECT FROM idempotency_keys k WHERE k.scope = p.scope AND k.id = p.key_id)`,
  );
  if (left!.phases > 0) violations.push({ what: 'phases belong to no key', details: left });
  for (const key of booked.keys()) {
    if (!found.has(key)) violations.push({ what: 'a payment belongs to no key', key });
  }
  return violations;
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
