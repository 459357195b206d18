import { Module } from '@nestjs/common';
import { RidesModule } from '../rides/rides.module.js';
import { AgencyController } from './agency.controller.js';

/** Bookings from RabbitMQ: another way in, to the same rides. */
@Module({ imports: [RidesModule], controllers: [AgencyController] })
export class RidesRabbitmqModule {}
