/** A Nest route without any idempotency: the ceiling. */
import {
  Body,
  Controller,
  Module,
  Post,
  UseInterceptors,
  type CallHandler,
  type ExecutionContext,
} from '@nestjs/common';
import { accept, type Payment } from './payment.js';
import { serve } from './serve.js';

/** What Nest itself takes for a route with an interceptor, whatever that does. */
class Nothing {
  async intercept(_context: ExecutionContext, next: CallHandler) {
    return next.handle();
  }
}

@Controller()
class PaymentsController {
  @Post('payments')
  create(@Body() payment: Payment) {
    return accept(payment);
  }

  @Post('intercepted')
  @UseInterceptors(Nothing)
  createBehindInterceptor(@Body() payment: Payment) {
    return accept(payment);
  }
}

@Module({ controllers: [PaymentsController] })
class AppModule {}

await serve(AppModule);
