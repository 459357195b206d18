import { Body, Controller, Post } from '@nestjs/common';
import { Idempotent } from 'nestjs-atomic-idempotency';
import { TIMES } from '../times.js';
import { Purchases, type Purchase } from './purchases.js';

/** One route for each way in which a client can wait for its purchase. */
@Controller('purchases')
export class PurchasesController {
  constructor(private readonly purchases: Purchases) {}

  @Post('now')
  @Idempotent({ phased: true })
  now(@Body() purchase: Purchase): Promise<object> {
    return this.purchases.make(purchase);
  }

  @Post('patient')
  @Idempotent({ phased: true, onInProgress: 'wait', waitFor: '3s' })
  patient(@Body() purchase: Purchase): Promise<object> {
    return this.purchases.make(purchase);
  }

  /** Its keys are forgotten during the run. Those that nobody has finished are kept for the usual time. */
  @Post('brief')
  @Idempotent({ phased: true, retention: () => TIMES.retention })
  brief(@Body() purchase: Purchase): Promise<object> {
    return this.purchases.make(purchase);
  }

  @Post('resumable')
  @Idempotent({ phased: true })
  resumable(@Body() purchase: Purchase): Promise<object> {
    return this.purchases.makeWithoutClient(purchase);
  }

  @Post('background')
  @Idempotent({ run: 'background' })
  background(@Body() purchase: Purchase): Promise<object> {
    return this.purchases.makeWithoutClient(purchase);
  }
}
