/** A Nest route without any idempotency: the ceiling. */
import { Body, Controller, Module, Post } from '@nestjs/common';
import { accept, type Payment } from './payment.js';
import { serve } from './serve.js';

@Controller('payments')
class PaymentsController {
  @Post()
  create(@Body() payment: Payment) {
    return accept(payment);
  }
}

@Module({ controllers: [PaymentsController] })
class AppModule {}

await serve(AppModule);
