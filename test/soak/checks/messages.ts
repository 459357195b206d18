import type { World } from '../world/world.js';
import type { Violation } from './violation.js';

/** Every message was delivered, took effect once, and came in the order of the commits. */
export async function checkMessages(world: World): Promise<Violation[]> {
  const staged = await world.database.query<{ customer: string; receipts: number }>(
    'SELECT name AS customer, receipts FROM customers',
  );
  const mailed = await world.provider.control.receipts();
  const violations: Violation[] = [];
  for (const { customer, receipts } of staged) {
    // The provider mails once per message and writes down when: in its books the order counts.
    const numbers = mailed.filter(({ email }) => email === customer).map(({ amount }) => amount);
    const expected = Array.from({ length: receipts }, (_, index) => index + 1);
    if (numbers.join() === expected.join()) continue;
    const wrong = numbers.findIndex((number, index) => number !== expected[index]);
    violations.push({
      what: 'messages are missing or out of order',
      details: {
        customer,
        expected: receipts,
        got: numbers.length,
        around: numbers.slice(Math.max(wrong - 3, 0), wrong + 5),
      },
    });
  }
  return violations;
}
