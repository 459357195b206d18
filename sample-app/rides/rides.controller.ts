import { Body, Controller, Get, Param, Post, UseGuards } from '@nestjs/common';
import { Idempotent } from 'nestjs-atomic-idempotency';
import { BearerTokenGuard } from '../auth/bearer-token.guard.js';
import { CurrentUser } from '../auth/current-user.decorator.js';
import type { User } from '../auth/user.js';
import { CreateRideDto } from './create-ride.dto.js';
import { RideIdPipe } from './ride-id.pipe.js';
import { RidesService } from './rides.service.js';

@Controller('rides')
@UseGuards(BearerTokenGuard)
export class RidesController {
  constructor(private readonly rides: RidesService) {}

  @Post()
  @Idempotent({ phased: true })
  request(@CurrentUser() user: User, @Body() ride: CreateRideDto) {
    return this.rides.request({ user, ride });
  }

  @Get(':id')
  find(@CurrentUser() user: User, @Param('id', RideIdPipe) id: string) {
    return this.rides.findOwn(user, id);
  }
}
