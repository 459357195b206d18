import { Body, ConflictException, Controller, HttpCode, Post, UseGuards } from '@nestjs/common';
import {
  IdempotencyOperator,
  type Change,
  type Resolution,
  NotIdempotent,
} from 'nestjs-atomic-idempotency';
import type { BookedCharge } from './payment-client.js';
import { PaymentDeclinedException } from './payment-declined.exception.js';
import { PaymentSignatureGuard } from './payment-signature.guard.js';

interface PaymentEvent {
  charge: BookedCharge & { idempotencyKey: string };
}

/**
 * Where the provider tells of charges whose answer may not have arrived. The
 * Idempotency-Key of the charge is the effect key of our phase, so it says what
 * the news is about.
 */
@Controller('webhooks/payments')
@UseGuards(PaymentSignatureGuard)
export class PaymentWebhookController {
  constructor(private readonly operator: IdempotencyOperator) {}

  @Post()
  @NotIdempotent('a repeated event finds the call resolved and changes nothing')
  @HttpCode(200)
  async receive(@Body() { charge }: PaymentEvent): Promise<Change> {
    const by = { who: 'payment provider', why: `webhook about ${charge.id}` };
    const change = await this.operator.resolve(charge.idempotencyKey, resolutionOf(charge), by);
    if (!change.changed && change.reason === 'running') {
      // The request that made the charge is still at work, and may yet get its
      // answer. If it does not, we want to hear this again.
      throw new ConflictException(change.detail);
    }
    // Everything else is settled, now or before: no need to send it again.
    return change;
  }
}

/** The same endings as those of `PaymentClient.charge()`. */
function resolutionOf(charge: BookedCharge): Resolution {
  return charge.declined === undefined
    ? { outcome: 'executed', result: charge }
    : { outcome: 'rejected', error: new PaymentDeclinedException(charge.declined) };
}
