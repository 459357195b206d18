import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditRecord } from './audit-record.entity.js';
import { Ride } from './ride.entity.js';
import { RidesController } from './rides.controller.js';
import { RidesService } from './rides.service.js';
import { StagedReceipt } from './staged-receipt.entity.js';

@Module({
  imports: [TypeOrmModule.forFeature([Ride, AuditRecord, StagedReceipt])],
  controllers: [RidesController],
  providers: [RidesService],
  exports: [RidesService],
})
export class RidesModule {}
