import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { RidesModule } from '../rides/rides.module.js';
import { Tip } from './tip.entity.js';
import { TipsController } from './tips.controller.js';
import { TipsService } from './tips.service.js';

@Module({
  imports: [TypeOrmModule.forFeature([Tip]), RidesModule],
  controllers: [TipsController],
  providers: [TipsService],
})
export class TipsModule {}
