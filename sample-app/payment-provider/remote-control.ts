import type { Behaviour } from './behaviour.js';
import type { HeldRequest } from './held-requests.js';
import type { ChargeEntry, ReceiptEntry, TransferEntry } from './ledger.js';
import type { WebhookEndpoint } from './webhooks.js';

/** The provider's control endpoints and books, for the demo and the tests. The app never uses it. */
export class RemoteControl {
  constructor(private readonly providerUrl: string) {}

  /** What to do with the coming payments, in this order. */
  async next(...behaviours: Behaviour[]): Promise<void> {
    await this.ask('/control/next', { method: 'POST', body: JSON.stringify(behaviours) });
  }

  /** The same for receipts. */
  async nextReceipts(...behaviours: Behaviour[]): Promise<void> {
    await this.ask('/control/next-receipts', { method: 'POST', body: JSON.stringify(behaviours) });
  }

  /** Where the provider tells of charges whose answer may be lost. */
  async tellBy(endpoint: WebhookEndpoint): Promise<void> {
    await this.ask('/webhook-endpoint', { method: 'POST', body: JSON.stringify(endpoint) });
  }

  /** Resolves as soon as a request stands still. */
  async untilHeld(): Promise<HeldRequest[]> {
    return (await this.ask<{ held: HeldRequest[] }>('/control/held')).held;
  }

  async release(): Promise<void> {
    await this.ask('/control/release', { method: 'POST' });
  }

  async charges(): Promise<ChargeEntry[]> {
    return (await this.ask<{ data: ChargeEntry[] }>('/charges')).data;
  }

  async transfers(): Promise<TransferEntry[]> {
    return (await this.ask<{ data: TransferEntry[] }>('/transfers')).data;
  }

  async receipts(): Promise<ReceiptEntry[]> {
    return (await this.ask<{ data: ReceiptEntry[] }>('/receipts')).data;
  }

  private async ask<T>(path: string, init: RequestInit = {}): Promise<T> {
    const response = await fetch(new URL(path, this.providerUrl), init);
    if (!response.ok) {
      throw new Error(`The payment provider answered ${response.status}: ${await response.text()}`);
    }
    return (await response.json()) as T;
  }
}
