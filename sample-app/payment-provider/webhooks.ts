import { createHmac } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { ChargeEntry } from './ledger.js';

/** Where the customer wants to be told, and the secret that its signatures are made with. */
export interface WebhookEndpoint {
  url: string;
  secret: string;
}

/** With doubling pauses, about a minute. A real provider tries for days. */
const MOST_TRIES = 10;
const FIRST_PAUSE_MS = 50;

/** Tells about charges whose answer may not have arrived, until the customer says that it has heard. */
export class Webhooks {
  endpoint: WebhookEndpoint | undefined;

  async tell(charge: ChargeEntry): Promise<void> {
    const body = JSON.stringify({ type: 'charge', charge });
    for (let tries = 1; tries <= MOST_TRIES && this.endpoint; tries++) {
      if (await this.deliver(this.endpoint, body)) return;
      // Unreferenced: a provider that is told to end does not wait for it.
      await delay(FIRST_PAUSE_MS * 2 ** (tries - 1), undefined, { ref: false });
    }
  }

  private async deliver({ url, secret }: WebhookEndpoint, body: string): Promise<boolean> {
    const signature = createHmac('sha256', secret).update(body).digest('hex');
    const headers = { 'content-type': 'application/json', 'payments-signature': signature };
    const response = await fetch(url, { method: 'POST', headers, body }).catch(() => undefined);
    await response?.body?.cancel();
    return response?.ok ?? false;
  }
}
