import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { BehaviourQueue, isBehaviour, type Behaviour } from './behaviour.js';
import { Cashier } from './cashier.js';
import { HeldRequests } from './held-requests.js';
import { KeyReusedError } from './once-per-key.js';
import {
  BadRequest,
  readChargeRequest,
  readEndpoint,
  readJson,
  readReceiptRequest,
  readTransferRequest,
} from './requests.js';
import type { Ledger, LedgerEntry } from './ledger.js';
import { Webhooks } from './webhooks.js';

/**
 * The provider's HTTP interface.
 *
 *   POST /charges                     with an Idempotency-Key: charged once per key
 *   GET  /charges?idempotency_key=…   the lookup; without the parameter, all charges
 *   POST /transfers                   knows no keys
 *   GET  /transfers
 *   POST /receipts                    with an Idempotency-Key: mailed once per key
 *   GET  /receipts
 *   POST /webhook-endpoint            where to tell of charges whose answer may be lost
 *
 * and what no real provider has, for the demo, the tests and your own curl:
 *
 *   POST /control/next                ["drop_after", …]: behaviours of the next payments
 *   POST /control/next-receipts       the same for receipts, which come when they like
 *   GET  /control/held                answers when a request stands still
 *   POST /control/release             lets them go on
 */
export function createPaymentProvider(ledger: Ledger, slowMs: number): Server {
  const cashier = new Cashier(ledger);
  const payments = new BehaviourQueue();
  const receipts = new BehaviourQueue();
  const held = new HeldRequests();
  const webhooks = new Webhooks();

  /** Everything that can go wrong around one booking happens here. */
  async function bookAndAnswer(
    request: IncomingMessage,
    response: ServerResponse,
    behaviour: Behaviour,
    book: (options: { decline: boolean }) => Promise<LedgerEntry>,
  ): Promise<void> {
    const path = request.url ?? '';
    const idempotencyKey = request.headers['idempotency-key']?.toString();

    if (behaviour === 'drop_before') {
      request.socket.destroy();
      return;
    }
    if (behaviour === 'hold_before') {
      // Even if the client hangs up meanwhile: a request that arrived is carried
      // out, maybe long after the client took it for lost.
      await held.hold({ path, idempotencyKey, bookedAs: undefined });
    }

    const entry = await book({ decline: behaviour === 'decline' });
    const answerIsLost = behaviour === 'drop_after' || behaviour === 'error_after';
    if (answerIsLost && entry.kind === 'charge') void webhooks.tell(entry);

    switch (behaviour) {
      case 'drop_after':
        request.socket.destroy();
        return;
      case 'error_after':
        return answer(response, 500, { error: { code: 'internal_error' } });
      case 'hold_after':
        await held.hold({ path, idempotencyKey, bookedAs: entry.id }, closed(response));
        break;
      case 'slow':
        // Unreferenced: a provider that is told to end does not wait for it.
        await delay(slowMs, undefined, { ref: false });
        break;
    }
    if (entry.declined) {
      answer(response, 402, {
        error: { code: entry.declined, message: 'The payment was declined.' },
      });
    } else {
      answer(response, 201, entry);
    }
  }

  async function route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://provider');
    switch (`${request.method} ${url.pathname}`) {
      case 'POST /charges': {
        const { idempotencyKey, charge } = await readChargeRequest(request);
        return bookAndAnswer(request, response, payments.next(), (options) =>
          cashier.charge(idempotencyKey, charge, options),
        );
      }
      case 'POST /transfers': {
        const transfer = await readTransferRequest(request);
        return bookAndAnswer(request, response, payments.next(), (options) =>
          cashier.transfer(transfer, options),
        );
      }
      case 'POST /receipts': {
        const { idempotencyKey, receipt } = await readReceiptRequest(request);
        return bookAndAnswer(request, response, receipts.next(), () =>
          cashier.mailReceipt(idempotencyKey, receipt),
        );
      }
      case 'GET /charges': {
        const key = url.searchParams.get('idempotency_key');
        const charges = ledger.entries.filter((entry) => entry.kind === 'charge');
        const found = key === null ? charges : [await cashier.findCharge(key)];
        return answer(response, 200, { data: found.filter((charge) => charge !== undefined) });
      }
      case 'GET /transfers':
        return answer(response, 200, {
          data: ledger.entries.filter((entry) => entry.kind === 'transfer'),
        });
      case 'GET /receipts':
        return answer(response, 200, {
          data: ledger.entries.filter((entry) => entry.kind === 'receipt'),
        });
      case 'POST /webhook-endpoint':
        webhooks.endpoint = await readEndpoint(request);
        return answer(response, 200, { url: webhooks.endpoint.url });
      case 'POST /control/next':
        return order(request, response, payments);
      case 'POST /control/next-receipts':
        return order(request, response, receipts);
      case 'GET /control/held':
        return answer(response, 200, { held: await held.waitForOne() });
      case 'POST /control/release':
        return answer(response, 200, { released: held.release() });
      default:
        return answer(response, 404, { error: { code: 'not_found' } });
    }
  }

  return createServer((request, response) => {
    // Only refusals are answered here. Anything else, above all a ledger that
    // cannot be written, is left unhandled and ends the process: books that may
    // be wrong must not be added to.
    void route(request, response).catch((error: unknown) => {
      if (error instanceof BadRequest) {
        answer(response, 400, { error: { code: 'bad_request', message: error.message } });
      } else if (error instanceof KeyReusedError) {
        answer(response, 422, {
          error: { code: 'idempotency_key_reused', message: error.message },
        });
      } else {
        throw error;
      }
    });
  });
}

async function order(
  request: IncomingMessage,
  response: ServerResponse,
  behaviours: BehaviourQueue,
): Promise<void> {
  const orders = await readJson(request);
  if (!Array.isArray(orders) || !orders.every(isBehaviour)) {
    throw new BadRequest('Expected a JSON array of behaviours.');
  }
  behaviours.order(orders);
  answer(response, 200, { next: orders });
}

function closed(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => response.once('close', () => resolve()));
}

function answer(response: ServerResponse, status: number, body: unknown): void {
  // The client may be gone: it was killed, or it stopped waiting.
  if (response.destroyed) return;
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}
