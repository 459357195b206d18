import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ChargeEntry } from '../../sample-app/payment-provider/ledger.js';
import type { RemoteControl } from '../../sample-app/payment-provider/remote-control.js';
import { send } from '../support/http.js';
import { startPaymentProvider, type PaymentProvider } from './payment-provider-process.js';

const CHARGE = { amount: 4900, currency: 'usd', card: 'card_visa', description: 'Ride 1' };
const TRANSFER = { amount: 500, currency: 'usd', recipient: 'pilot', description: 'Tip' };

describe('The payment provider', () => {
  let provider: PaymentProvider;
  let control: RemoteControl;
  beforeAll(async () => {
    // A "slow" answer takes longer than any test: no test depends on how much longer.
    provider = await startPaymentProvider({ SLOW_MS: '600000' });
    ({ control } = provider);
  });
  afterAll(() => provider.close());

  const charge = (key: string, body: object = CHARGE) =>
    send(`${provider.url}/charges`, { key, body });
  const find = async (key: string): Promise<ChargeEntry[]> =>
    (await send(`${provider.url}/charges?idempotency_key=${key}`, { method: 'GET' })).json().data;

  it('charges once per key', async () => {
    const key = randomUUID();
    const first = await charge(key);
    const second = await charge(key);
    expect(first.status).toBe(201);
    expect(first.json()).toMatchObject({ amount: 4900, card: 'card_visa' });
    expect(second.status).toBe(201);
    expect(second.text).toBe(first.text);
    expect(await find(key)).toEqual([first.json()]);
  });

  it('charges once when two requests with one key arrive together', async () => {
    const key = randomUUID();
    const before = (await control.charges()).length;
    const answers = await Promise.all(Array.from({ length: 20 }, () => charge(key)));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(await control.charges()).toHaveLength(before + 1);
  });

  it('refuses a key with another request, and books nothing', async () => {
    const key = randomUUID();
    await charge(key);
    const other = await charge(key, { ...CHARGE, amount: 1 });
    expect(other.status).toBe(422);
    expect(other.json().error.code).toBe('idempotency_key_reused');
    expect(await find(key)).toMatchObject([{ amount: 4900 }]);
  });

  it('finds nothing under a key it has never seen', async () => {
    expect(await find(randomUUID())).toEqual([]);
  });

  it.each([
    ['without a key', undefined, CHARGE],
    ['without a card', 'k', { ...CHARGE, card: undefined }],
    ['of nothing', 'k', { ...CHARGE, amount: 0 }],
    ['that is not JSON', 'k', 'amount=1'],
  ])('refuses a charge %s', async (_, key, body) => {
    const before = (await control.charges()).length;
    const answer = await send(`${provider.url}/charges`, { key, body });
    expect(answer.status).toBe(400);
    expect(await control.charges()).toHaveLength(before);
  });

  it('declines a card without money, on each retry as well', async () => {
    const key = randomUUID();
    const body = { ...CHARGE, card: 'card_declined' };
    const first = await charge(key, body);
    expect(first.status).toBe(402);
    expect(first.json().error.code).toBe('insufficient_funds');
    expect((await charge(key, body)).text).toBe(first.text);
  });

  it('declines on command, and remembers that it did', async () => {
    const key = randomUUID();
    await control.next('decline');
    expect((await charge(key)).status).toBe(402);
    expect((await charge(key)).status).toBe(402);
  });

  it('drops the connection before charging', async () => {
    const key = randomUUID();
    await control.next('drop_before');
    await expect(charge(key)).rejects.toThrow('socket hang up');
    expect(await find(key)).toEqual([]);
  });

  it('drops the connection after charging, and gives the charge to the retry', async () => {
    const key = randomUUID();
    await control.next('drop_after');
    await expect(charge(key)).rejects.toThrow('socket hang up');
    const [booked] = await find(key);
    expect(booked).toMatchObject(CHARGE);
    expect((await charge(key)).json()).toEqual(booked);
  });

  it('answers 500 after charging', async () => {
    const key = randomUUID();
    await control.next('error_after');
    expect((await charge(key)).status).toBe(500);
    expect(await find(key)).toHaveLength(1);
    expect((await charge(key)).status).toBe(201);
  });

  it('is slow on command: the charge is booked long before the answer', async () => {
    const key = randomUUID();
    await control.next('slow');
    const impatience = new AbortController();
    const answer = send(`${provider.url}/charges`, {
      key,
      body: CHARGE,
      signal: impatience.signal,
    });
    const first = await Promise.race([answer, untilBooked(key)]);
    expect(first).toBe('booked');
    impatience.abort();
    await expect(answer).rejects.toThrow('abort');
    expect((await charge(key)).status).toBe(201);
  });

  it('holds a request before charging, and completes it when released, even without a client', async () => {
    const key = randomUUID();
    await control.next('hold_before');
    const client = new AbortController();
    const answer = send(`${provider.url}/charges`, { key, body: CHARGE, signal: client.signal });
    const held = await control.untilHeld();
    expect(held).toMatchObject([{ path: '/charges', idempotencyKey: key }]);
    expect(await find(key)).toEqual([]);

    client.abort();
    await expect(answer).rejects.toThrow('abort');
    await control.release();
    await untilBooked(key);
  });

  it('holds an answer after charging until it is released', async () => {
    const key = randomUUID();
    await control.next('hold_after');
    const answer = charge(key);
    const [held] = await control.untilHeld();
    expect(await find(key)).toMatchObject([{ id: held?.bookedAs }]);
    await control.release();
    expect((await answer).json().id).toBe(held?.bookedAs);
  });

  it('follows its instructions request by request, then behaves normally again', async () => {
    await control.next('error_after', 'normal', 'decline');
    const statuses = [];
    for (let i = 0; i < 4; i += 1) statuses.push((await charge(randomUUID())).status);
    expect(statuses).toEqual([500, 201, 402, 201]);
  });

  it('refuses a behaviour that it does not know', async () => {
    const answer = await send(`${provider.url}/control/next`, { body: ['explode'] });
    expect(answer.status).toBe(400);
  });

  it('transfers each time it is asked, because transfers have no keys', async () => {
    const before = (await control.transfers()).length;
    const key = randomUUID();
    for (let i = 0; i < 2; i += 1) {
      const answer = await send(`${provider.url}/transfers`, { key, body: TRANSFER });
      expect(answer.status).toBe(201);
    }
    expect(await control.transfers()).toHaveLength(before + 2);
  });

  describe('asked for a receipt', () => {
    const RECEIPT = { email: 'ada@example.com', amount: 4900, currency: 'usd', description: 'x' };
    const receipt = (key: string | undefined, body: object = RECEIPT) =>
      send(`${provider.url}/receipts`, { key, body });
    const mailed = async (key: string) =>
      (await control.receipts()).filter(({ idempotencyKey }) => idempotencyKey === key);

    it('mails once per key', async () => {
      const key = randomUUID();
      const first = await receipt(key);
      expect(first.status).toBe(201);
      expect((await receipt(key)).text).toBe(first.text);
      expect((await receipt(key, { ...RECEIPT, email: 'grace@example.com' })).status).toBe(422);
      expect(await mailed(key)).toEqual([first.json()]);
    });

    it.each([
      ['without a key', undefined, RECEIPT],
      ['without an address', 'k', { ...RECEIPT, email: undefined }],
    ])('refuses one %s', async (_, key, body) => {
      expect((await receipt(key, body)).status).toBe(400);
    });

    it('follows the instructions for receipts, and not those for payments', async () => {
      const key = randomUUID();
      await control.next('decline');
      await control.nextReceipts('error_after');
      expect((await receipt(key)).status).toBe(500);
      expect(await mailed(key)).toHaveLength(1);
      expect((await receipt(key)).status).toBe(201);
      expect((await charge(randomUUID())).status).toBe(402);
    });
  });

  async function untilBooked(key: string): Promise<'booked'> {
    while ((await find(key)).length === 0);
    return 'booked';
  }
});
