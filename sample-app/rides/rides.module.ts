import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditRecord } from './audit-record.entity.js';
import { ReceiptSender } from './receipt-sender.js';
import { Ride } from './ride.entity.js';
import { RidesController } from './rides.controller.js';
import { RidesService } from './rides.service.js';

@Module({
  imports: [TypeOrmModule.forFeature([Ride, AuditRecord])],
  controllers: [RidesController],
  providers: [RidesService, ReceiptSender],
  exports: [RidesService],
})
export class RidesModule {}
