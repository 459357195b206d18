import { expect } from '@jest/globals';
import type { Provider } from './provider.js';
import type { RealRow } from './real.js';
import { RECOVERY_POINTS } from './vocabulary.js';

/**
 * What must be true of a key at any time, whatever the model says.
 *
 * @param before the key as it was at the last look
 */
export function expectInvariants(
  provider: Provider,
  row: RealRow,
  before: RealRow | undefined,
): void {
  if (before) expectProgress(row, before);
  const charges = row.effectKey === null ? [] : provider.charges(row.effectKey);
  // Money moves once per key, and so does everything that the phases write.
  expect(charges.length).toBeLessThanOrEqual(1);
  expect(row.orders).toBeLessThanOrEqual(1);
  expect(row.charges.length).toBeLessThanOrEqual(1);
  expect(row.receipts).toBeLessThanOrEqual(1);

  if (row.status !== 'completed') {
    expect(row.responseStatus).toBeNull();
    return;
  }
  const paid = charges.map(({ id }) => id);
  if (row.responseStatus === 201) {
    // No charge is lost, and none is told that was not made.
    expect(paid).toHaveLength(1);
    expect(JSON.parse(row.responseBody!)).toMatchObject({ charge: paid[0] });
    expect(row).toMatchObject({ orders: 1, charges: paid, receipts: 1 });
  } else {
    expect({ status: row.responseStatus, paid, receipts: row.receipts }).toEqual({
      status: 402,
      paid: [],
      receipts: 0,
    });
  }
}

/** Nobody goes back. */
function expectProgress(row: RealRow, before: RealRow): void {
  const rank = ({ recoveryPoint }: RealRow) => RECOVERY_POINTS.indexOf(recoveryPoint);
  expect(rank(row)).toBeGreaterThanOrEqual(rank(before));
  expect(row.attempt).toBeGreaterThanOrEqual(before.attempt);
  if (before.effectKey !== null) expect(row.effectKey).toBe(before.effectKey);
  // A client can neither change a final answer nor run what is unknown.
  if (before.status === 'completed' || before.status === 'unknown') expect(row).toEqual(before);
}
