export interface PaymentOptions {
  /** Where the payment provider answers. */
  url: string;
  /** How long it may take. Past it the outcome is not known, which costs more than a second of patience. */
  timeoutMs: number;
}

export const PAYMENT_OPTIONS = Symbol('PAYMENT_OPTIONS');

/** What the provider signs its webhooks with. */
export const WEBHOOK_SECRET = Symbol('WEBHOOK_SECRET');
