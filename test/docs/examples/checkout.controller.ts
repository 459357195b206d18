import { Body, Controller, Post, UseGuards } from '@nestjs/common';
import { Idempotent } from 'nestjs-atomic-idempotency';
import { AuthGuard } from './auth.guard.js';
import { CheckoutService } from './checkout.service.js';

@Controller('checkout')
@UseGuards(AuthGuard)
export class CheckoutController {
  constructor(private readonly checkouts: CheckoutService) {}

  @Post()
  @Idempotent({ phased: true })
  checkout(@Body() { item, amount }: { item: string; amount: number }) {
    return this.checkouts.checkout(item, amount);
  }
}
