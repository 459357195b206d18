import { randomUUID } from 'node:crypto';
import { appendFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { RemoteControl } from '../../sample-app/payment-provider/remote-control.js';
import { send } from '../support/http.js';
import { startServer } from '../support/server-process.js';

const CHARGE = { amount: 4900, currency: 'usd', card: 'card_visa', description: 'Ride 1' };

describe("The payment provider's ledger", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'ledger-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  const start = (ledger: string) =>
    startServer('sample-app/payment-provider/main', { env: { LEDGER: ledger } });

  it('survives kill -9: a charge that was answered is remembered under its key', async () => {
    const ledger = join(folder, 'killed.jsonl');
    const key = randomUUID();
    const killed = await start(ledger);
    const first = await send(`${killed.url}/charges`, { key, body: CHARGE });
    await killed.kill();

    const next = await start(ledger);
    const second = await send(`${next.url}/charges`, { key, body: CHARGE });
    expect(second.text).toBe(first.text);
    const lines = (await readFile(ledger, 'utf8')).trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line))).toEqual([first.json()]);
  });

  it('remembers a charge whose answer was still being held when it was killed', async () => {
    const ledger = join(folder, 'held.jsonl');
    const key = randomUUID();
    const killed = await start(ledger);
    const control = new RemoteControl(killed.url);
    await control.next('hold_after');
    const lost = send(`${killed.url}/charges`, { key, body: CHARGE });
    const [held] = await control.untilHeld();
    await Promise.all([expect(lost).rejects.toThrow('hang up'), killed.kill()]);

    const next = await start(ledger);
    const retry = await send(`${next.url}/charges`, { key, body: CHARGE });
    expect(retry.json().id).toBe(held?.bookedAs);
    expect(await new RemoteControl(next.url).charges()).toHaveLength(1);
  });

  it('drops a line that a crash cut off, and continues after the last complete one', async () => {
    const ledger = join(folder, 'torn.jsonl');
    const first = await start(ledger);
    await send(`${first.url}/charges`, { key: 'whole', body: CHARGE });
    await first.kill();
    await appendFile(ledger, '{"kind":"charge","id":"ch_');

    const second = await start(ledger);
    await send(`${second.url}/charges`, { key: 'after', body: CHARGE });
    await second.kill();

    const third = await start(ledger);
    const charges = await new RemoteControl(third.url).charges();
    expect(charges.map(({ idempotencyKey }) => idempotencyKey)).toEqual(['whole', 'after']);
  });
});
