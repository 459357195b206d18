import { BadGatewayException, Inject, Injectable } from '@nestjs/common';
import type { ForeignEffect } from 'nestjs-atomic-idempotency';
import { PaymentDeclinedException } from './payment-declined.exception.js';
import { PAYMENT_OPTIONS, type PaymentOptions } from './payment-options.js';

export interface ChargeRequest {
  /** In cents. */
  amount: number;
  currency: string;
  card: string;
  description: string;
}

export interface TransferRequest {
  /** In cents. */
  amount: number;
  currency: string;
  recipient: string;
  description: string;
}

export interface ReceiptRequest {
  email: string;
  /** In cents. */
  amount: number;
  currency: string;
  description: string;
}

/** What the provider tells of money that moved. */
export interface Payment {
  id: string;
  amount: number;
}

export interface BookedCharge extends Payment {
  /** Why no money moved; absent where it did. */
  declined?: string;
}

/**
 * Speaks to the payment provider. Its one duty beyond HTTP is to keep three
 * endings apart: paid (a value), declined (`PaymentDeclinedException`), and
 * everything else, in which the money may or may not have moved (502).
 */
@Injectable()
export class PaymentClient {
  constructor(@Inject(PAYMENT_OPTIONS) private readonly options: PaymentOptions) {}

  /** Charges once per idempotency key, however often it is called with it. */
  charge(
    request: ChargeRequest,
    effect: Pick<ForeignEffect, 'idempotencyKey' | 'signal'>,
  ): Promise<Payment> {
    return this.post('/charges', request, effect.signal, {
      'idempotency-key': effect.idempotencyKey,
    });
  }

  /** Moves money each time it is called: this interface of the provider knows no keys. */
  transfer(request: TransferRequest, effect: Pick<ForeignEffect, 'signal'>): Promise<Payment> {
    return this.post('/transfers', request, effect.signal);
  }

  /** Has a receipt mailed, once per idempotency key, however often it is called with it. */
  async mailReceipt(
    request: ReceiptRequest,
    effect: Pick<ForeignEffect, 'idempotencyKey' | 'signal'>,
  ): Promise<void> {
    await this.post('/receipts', request, effect.signal, {
      'idempotency-key': effect.idempotencyKey,
    });
  }

  /** What the provider has booked under a key, if anything. Changes nothing there. */
  async findCharge(idempotencyKey: string): Promise<BookedCharge | undefined> {
    const url = new URL('/charges', this.options.url);
    url.searchParams.set('idempotency_key', idempotencyKey);
    const response = await fetch(url, { signal: AbortSignal.timeout(this.options.timeoutMs) });
    if (!response.ok) {
      // Not "not found": an error says nothing about the charge.
      throw new BadGatewayException(`The payment provider answered ${response.status}.`);
    }
    const { data } = (await response.json()) as { data: BookedCharge[] };
    return data[0];
  }

  private async post(
    path: string,
    body: ChargeRequest | TransferRequest | ReceiptRequest,
    signal: AbortSignal,
    headers: Record<string, string> = {},
  ): Promise<Payment> {
    let response: Response;
    let answer: unknown;
    try {
      response = await fetch(new URL(path, this.options.url), {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
        // The library's signal fires when this attempt has lost its key; ours
        // when the provider takes too long.
        signal: AbortSignal.any([signal, AbortSignal.timeout(this.options.timeoutMs)]),
      });
      // Inside the try: an answer that breaks off halfway is no answer.
      answer = await response.json();
    } catch (cause) {
      throw new BadGatewayException('The payment provider did not answer.', { cause });
    }
    if (response.status === 201) {
      return answer as Payment;
    }
    if (response.status === 402) {
      throw new PaymentDeclinedException((answer as { error: { code: string } }).error.code);
    }
    // Above all 5xx: the provider may have failed after the money moved.
    throw new BadGatewayException(`The payment provider answered ${response.status}.`);
  }
}
