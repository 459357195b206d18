import { Body, ConflictException, Controller, HttpCode, Post } from '@nestjs/common';
import { IdempotencyOperator } from 'nestjs-atomic-idempotency';

@Controller('webhooks/payments')
export class PaymentWebhooksController {
  constructor(private readonly operator: IdempotencyOperator) {}

  @Post()
  @HttpCode(200)
  async told(@Body() event: { idempotencyKey: string; chargeId: string }) {
    // Check the signature of the provider first: what is told here is believed.
    const change = await this.operator.resolve(
      event.idempotencyKey, // the effect key of the phase
      { outcome: 'executed', result: { chargeId: event.chargeId } }, // as `call` would return it
      'payment provider', // for the audit
    );
    // The request is still at work and may yet get its answer. If not, we want to hear this again.
    if (!change.changed && change.reason === 'running') throw new ConflictException(change.detail);
    return change;
  }
}
