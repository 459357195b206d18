import { HttpException } from '@nestjs/common';

/**
 * The provider said no. An HttpException below 500, because a refusal is a
 * definite answer: nothing is in doubt, and asking again will not change it.
 */
export class PaymentDeclinedException extends HttpException {
  constructor(readonly reason: string) {
    super({ statusCode: 402, error: 'Payment Required', message: 'Payment declined', reason }, 402);
  }
}
