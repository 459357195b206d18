import { Module, type DynamicModule } from '@nestjs/common';
import { ChargeReconciler } from './charge-reconciler.js';
import { PaymentClient } from './payment-client.js';
import { PaymentWebhookController } from './payment-webhook.controller.js';
import { PAYMENT_OPTIONS, WEBHOOK_SECRET, type PaymentOptions } from './payment-options.js';

@Module({})
export class PaymentsModule {
  static forRoot({
    webhookSecret,
    ...options
  }: PaymentOptions & { webhookSecret: string }): DynamicModule {
    return {
      module: PaymentsModule,
      global: true,
      controllers: [PaymentWebhookController],
      providers: [
        { provide: PAYMENT_OPTIONS, useValue: options },
        { provide: WEBHOOK_SECRET, useValue: webhookSecret },
        PaymentClient,
        ChargeReconciler,
      ],
      exports: [PaymentClient],
    };
  }
}
