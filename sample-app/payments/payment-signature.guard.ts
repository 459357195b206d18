import { createHmac, timingSafeEqual } from 'node:crypto';
import {
  Inject,
  Injectable,
  UnauthorizedException,
  type CanActivate,
  type ExecutionContext,
  type RawBodyRequest,
} from '@nestjs/common';
import { WEBHOOK_SECRET } from './payment-options.js';

/**
 * Lets a webhook pass only if the provider signed exactly these bytes: whoever can
 * forge one could make the app believe in a payment that never happened.
 */
@Injectable()
export class PaymentSignatureGuard implements CanActivate {
  constructor(@Inject(WEBHOOK_SECRET) private readonly secret: string) {}

  canActivate(context: ExecutionContext): boolean {
    const { headers, rawBody } = context
      .switchToHttp()
      .getRequest<RawBodyRequest<{ headers: Record<string, string | undefined> }>>();
    const expected = createHmac('sha256', this.secret)
      .update(rawBody ?? '')
      .digest();
    const given = Buffer.from(headers['payments-signature'] ?? '', 'hex');
    if (given.length === expected.length && timingSafeEqual(given, expected)) return true;
    throw new UnauthorizedException('The signature is not that of the payment provider.');
  }
}
