import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { RequestContext } from './request-context.js';
import type { Mistake, UsageGuard } from './usage-guard.js';

/** An outgoing request, as Node's channels show it: of `node:http`, or of undici and fetch(). */
interface OutgoingRequest {
  method?: string;
  /** undici */
  origin?: string | URL;
  onError?(error: Error): void;
  /** node:http */
  host?: string;
  getHeader?(name: string): unknown;
  destroy?(error: Error): void;
}

/**
 * The first one does not exist before Node 22.12; then the second one reports the
 * request when it has been sent.
 */
const CHANNELS = [
  'http.client.request.created',
  'http.client.request.start',
  'undici:request:create',
];

/**
 * Watches the requests that idempotent handlers send, and reports those that a
 * resume would repeat or forget: inside a phase's transaction, beside another one
 * in a foreign call, or outside any phase.
 */
export class ForeignCallGuard {
  private readonly seen = new WeakSet<OutgoingRequest>();

  constructor(private readonly guard: UsageGuard) {}

  install(): void {
    for (const channel of CHANNELS) subscribe(channel, this.onRequest);
  }

  uninstall(): void {
    for (const channel of CHANNELS) unsubscribe(channel, this.onRequest);
  }

  private readonly onRequest = (message: unknown): void => {
    const context = this.guard.watched;
    if (!context) return;
    const { request } = message as { request: OutgoingRequest };
    if (this.seen.has(request)) return;
    this.seen.add(request);
    const { method = 'GET' } = request;
    const host = String(request.origin ?? request.host ?? 'another system');
    const mistake = mistakeOf(context, method, host);
    if (mistake === undefined) return;
    const error = this.guard.report(context, { ...mistake, origin: originOf(request, host) });
    // A subscriber cannot throw into the sending code; it can end the request.
    if (error) (request.onError ?? request.destroy)?.call(request, error);
  };
}

function mistakeOf({ phase }: RequestContext, method: string, host: string): Mistake | undefined {
  // A tunnel through a proxy; the request inside it is seen as well.
  if (method === 'CONNECT') return undefined;
  const sent = `sent a ${method} request to ${host}`;
  if (phase?.queryRunner) {
    return {
      code: 'call_in_transaction',
      name: `in transaction ${host}`,
      message:
        `${sent} inside the transaction of phase "${phase.name}". A rollback does not take it back, and a retried transaction sends it again. ` +
        'Move it into the call of a foreign phase.',
      // An error in record would leave the phase in doubt, which is worse than this.
      unprotected: phase.kind === 'local' && !isSafe(method),
    };
  }
  if (phase) {
    phase.requests += 1;
    if (phase.requests === 1) return undefined;
    return {
      code: 'second_call_in_phase',
      name: `second call ${host}`,
      message:
        `${sent} as number ${phase.requests} in the call of foreign phase "${phase.name}". If the process dies between two of them, nobody knows which took effect. ` +
        'Give each its own foreign phase; fetch tokens and the like before the phase, in atomicPhase.unprotected().',
      unprotected: false,
    };
  }
  if (isSafe(method)) return undefined;
  return {
    code: 'call_outside_phase',
    name: `outside ${host}`,
    message:
      `${sent} outside any phase. After a crash, a resume sends it again, or never. ` +
      'Make the call in atomicPhase.foreign(). If it changes nothing over there (a token, a search), wrap it in atomicPhase.unprotected().',
    unprotected: true,
  };
}

/** Only the header of a request of `node:http` has the port. */
function originOf(request: OutgoingRequest, host: string): string {
  const header = request.origin === undefined ? request.getHeader?.('host') : undefined;
  return typeof header === 'string' ? header : host;
}

/** Reading is allowed anywhere. */
function isSafe(method: string): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS';
}
