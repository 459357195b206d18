import { Body, Controller, Param, Post, UseGuards } from '@nestjs/common';
import { Idempotent } from 'nestjs-atomic-idempotency';
import { BearerTokenGuard } from '../auth/bearer-token.guard.js';
import { CurrentUser } from '../auth/current-user.decorator.js';
import type { User } from '../auth/user.js';
import { RideIdPipe } from '../rides/ride-id.pipe.js';
import { CreateTipDto } from './create-tip.dto.js';
import { TipsService } from './tips.service.js';

@Controller('rides/:rideId/tips')
@UseGuards(BearerTokenGuard)
export class TipsController {
  constructor(private readonly tips: TipsService) {}

  @Post()
  @Idempotent({ phased: true })
  tip(
    @CurrentUser() user: User,
    @Param('rideId', RideIdPipe) rideId: string,
    @Body() body: CreateTipDto,
  ) {
    return this.tips.tip(user, rideId, body);
  }
}
