import { HttpException, Injectable } from '@nestjs/common';
import { AtomicPhase } from 'nestjs-atomic-idempotency';
import Stripe from 'stripe';

@Injectable()
export class StripePayments {
  constructor(
    private readonly phase: AtomicPhase,
    private readonly stripe: Stripe,
  ) {}

  pay(amount: number, paymentMethod: string) {
    const payment = { amount, currency: 'eur', payment_method: paymentMethod, confirm: true };
    return this.phase.foreign('payment_confirmed', {
      request: payment,
      call: async ({ idempotencyKey, request }) => {
        try {
          const intent = await this.stripe.paymentIntents.create(
            // As it was stored with the first call: Stripe refuses a key with another body.
            request as typeof payment,
            { idempotencyKey, maxNetworkRetries: 0 },
          );
          return { id: intent.id, status: intent.status };
        } catch (error) {
          throw definiteNo(error) ?? error;
        }
      },
      inDoubt: 'repeat', // Stripe answers once per key
      keyValidFor: '23h', // and remembers keys for at least 24 hours
    });
  }
}

/** A declined card and a wrong parameter are answers. Anything else leaves the outcome in doubt. */
function definiteNo(error: unknown): HttpException | undefined {
  const { StripeCardError, StripeInvalidRequestError } = Stripe.errors;
  if (error instanceof StripeCardError) {
    return new HttpException({ code: error.code, message: error.message }, 402);
  }
  if (error instanceof StripeInvalidRequestError && error.statusCode !== 409) {
    return new HttpException(error.message, 400);
  }
  return undefined;
}
