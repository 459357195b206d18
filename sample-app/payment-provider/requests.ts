import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import type { ChargeRequest, ReceiptRequest, TransferRequest } from './ledger.js';
import type { WebhookEndpoint } from './webhooks.js';

export class BadRequest extends Error {}

export async function readJson(request: IncomingMessage): Promise<unknown> {
  // A client that dies while it sends ends up here too: nothing was asked for.
  try {
    return JSON.parse(await text(request));
  } catch {
    throw new BadRequest('The body is not JSON, or did not arrive.');
  }
}

export async function readChargeRequest(
  request: IncomingMessage,
): Promise<{ idempotencyKey: string; charge: ChargeRequest }> {
  const body = await readFields(request);
  return {
    idempotencyKey: idempotencyKeyOf(request),
    charge: {
      amount: amount(body),
      currency: string(body, 'currency'),
      card: string(body, 'card'),
      description: string(body, 'description'),
    },
  };
}

export async function readReceiptRequest(
  request: IncomingMessage,
): Promise<{ idempotencyKey: string; receipt: ReceiptRequest }> {
  const body = await readFields(request);
  return {
    idempotencyKey: idempotencyKeyOf(request),
    receipt: {
      email: string(body, 'email'),
      amount: amount(body),
      currency: string(body, 'currency'),
      description: string(body, 'description'),
    },
  };
}

export async function readTransferRequest(request: IncomingMessage): Promise<TransferRequest> {
  const body = await readFields(request);
  return {
    amount: amount(body),
    currency: string(body, 'currency'),
    recipient: string(body, 'recipient'),
    description: string(body, 'description'),
  };
}

export async function readEndpoint(request: IncomingMessage): Promise<WebhookEndpoint> {
  const body = await readFields(request);
  return { url: string(body, 'url'), secret: string(body, 'secret') };
}

async function readFields(request: IncomingMessage): Promise<Record<string, unknown>> {
  const body = await readJson(request);
  if (typeof body !== 'object' || body === null) {
    throw new BadRequest('Expected a JSON object.');
  }
  return body as Record<string, unknown>;
}

function idempotencyKeyOf(request: IncomingMessage): string {
  const idempotencyKey = request.headers['idempotency-key'];
  if (typeof idempotencyKey !== 'string' || idempotencyKey === '') {
    throw new BadRequest('This needs an Idempotency-Key.');
  }
  return idempotencyKey;
}

function amount(body: Record<string, unknown>): number {
  const value = body['amount'];
  if (!Number.isSafeInteger(value) || (value as number) <= 0) {
    throw new BadRequest('amount must be a positive whole number of cents.');
  }
  return value as number;
}

function string(body: Record<string, unknown>, field: string): string {
  const value = body[field];
  if (typeof value !== 'string' || value === '') {
    throw new BadRequest(`${field} must be a non-empty string.`);
  }
  return value;
}
