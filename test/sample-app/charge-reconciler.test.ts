import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ChargeReconciler } from '../../sample-app/payments/charge-reconciler.js';
import { PaymentClient } from '../../sample-app/payments/payment-client.js';
import { startPaymentProvider, type PaymentProvider } from './payment-provider-process.js';

const CHARGE = { amount: 4900, currency: 'usd', card: 'card_visa', description: 'Ride 1' };

describe('The reconciler of a charge', () => {
  let provider: PaymentProvider;
  let payments: PaymentClient;
  beforeAll(async () => {
    provider = await startPaymentProvider();
    payments = new PaymentClient({ url: provider.url, timeoutMs: 30_000 });
  });
  afterAll(() => provider.close());

  const { signal } = new AbortController();
  const lookUp = (idempotencyKey: string, startedAt = new Date()) =>
    new ChargeReconciler(payments).lookUp({
      recoveryPoint: 'charge_created',
      idempotencyKey,
      request: CHARGE,
      startedAt,
    });

  it('finds a charge whose answer was lost, as the call would have returned it', async () => {
    const idempotencyKey = randomUUID();
    await provider.control.next('drop_after');
    await expect(payments.charge(CHARGE, { idempotencyKey, signal })).rejects.toThrow(
      'did not answer',
    );
    expect(await lookUp(idempotencyKey)).toEqual({
      outcome: 'executed',
      result: await payments.charge(CHARGE, { idempotencyKey, signal }),
    });
  });

  it('reports a declined charge as not executed', async () => {
    const idempotencyKey = randomUUID();
    const broke = { ...CHARGE, card: 'card_declined' };
    await expect(payments.charge(broke, { idempotencyKey, signal })).rejects.toThrow('declined');
    expect(await lookUp(idempotencyKey)).toEqual({ outcome: 'not_executed' });
  });

  it('does not report "not found" as not executed while the provider may still process the charge', async () => {
    const idempotencyKey = randomUUID();
    await provider.control.next('hold_before');
    const late = payments.charge(CHARGE, { idempotencyKey, signal });
    await provider.control.untilHeld();
    expect(await lookUp(idempotencyKey)).toEqual({ outcome: 'unknown' });

    await provider.control.release();
    const { id } = await late;
    expect(await lookUp(idempotencyKey)).toMatchObject({ outcome: 'executed', result: { id } });
  });

  it('reports "not found" as not executed when no charge can take that long', async () => {
    const yesterday = new Date(Date.now() - 24 * 3_600_000);
    expect(await lookUp(randomUUID(), yesterday)).toEqual({ outcome: 'not_executed' });
  });

  it('reports nothing when the provider does not answer', async () => {
    const unreachable = new PaymentClient({ url: 'http://127.0.0.1:9', timeoutMs: 30_000 });
    await expect(unreachable.findCharge(randomUUID())).rejects.toThrow('fetch failed');
  });
});
