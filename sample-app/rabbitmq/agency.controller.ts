import { Controller } from '@nestjs/common';
import { MessagePattern, Payload, Transport } from '@nestjs/microservices';
import { Idempotent } from 'nestjs-atomic-idempotency';
import { RidesService } from '../rides/rides.service.js';
import { BookRideDto } from './book-ride.dto.js';

export const BOOK_RIDE = 'rides.book';

/** Rides that travel agencies book by message. The phases are the same. */
@Controller()
export class AgencyController {
  constructor(private readonly rides: RidesService) {}

  /**
   * An agency that hears nothing sends its booking again, and RabbitMQ delivers again
   * what was not acknowledged: `settle` does that once the outcome is on record.
   */
  @MessagePattern(BOOK_RIDE, Transport.RMQ)
  @Idempotent({
    phased: true,
    settle: true,
    key: ({ reference }: BookRideDto) => reference,
    scope: ({ agency }: BookRideDto) => agency,
  })
  book(@Payload() { agency, email, origin, target, card }: BookRideDto) {
    return this.rides.request({ user: { id: agency, email }, ride: { origin, target, card } });
  }
}
