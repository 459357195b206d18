import { Module, type DynamicModule } from '@nestjs/common';
import { ChargeReconciler } from './charge-reconciler.js';
import { PaymentClient } from './payment-client.js';
import { PAYMENT_OPTIONS, type PaymentOptions } from './payment-options.js';

@Module({})
export class PaymentsModule {
  static forRoot(options: PaymentOptions): DynamicModule {
    return {
      module: PaymentsModule,
      global: true,
      providers: [{ provide: PAYMENT_OPTIONS, useValue: options }, PaymentClient, ChargeReconciler],
      exports: [PaymentClient],
    };
  }
}
