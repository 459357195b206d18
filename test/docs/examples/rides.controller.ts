import { Body, Controller, Post, UseGuards } from '@nestjs/common';
import { Idempotent } from 'nestjs-atomic-idempotency';
import { AuthGuard } from './auth.guard.js';
import { RidesService } from './rides.service.js';

@Controller('rides')
@UseGuards(AuthGuard)
export class RidesController {
  constructor(private readonly rides: RidesService) {}

  @Post()
  @Idempotent({ phased: true })
  create(@Body() ride: { item: string; amount: number }) {
    return this.rides.create(ride);
  }
}
