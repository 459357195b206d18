import { Injectable, NotFoundException } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { AtomicPhase, Outbox, Resumable } from 'nestjs-atomic-idempotency';
import { Repository } from 'typeorm';
import type { User } from '../auth/user.js';
import { neverReached } from '../payments/never-reached.js';
import { PaymentClient } from '../payments/payment-client.js';
import { AuditRecord } from './audit-record.entity.js';
import type { CreateRideDto } from './create-ride.dto.js';
import { CURRENCY, FARES } from './fares.js';
import { SEND_RECEIPT, type Receipt } from './receipt-sender.js';
import { Ride } from './ride.entity.js';

/** All that is needed to make the ride, in one object: it is stored, and read again by a worker. */
export interface RideRequest {
  user: User;
  ride: CreateRideDto;
}

@Injectable()
export class RidesService {
  constructor(
    private readonly phase: AtomicPhase,
    private readonly payments: PaymentClient,
    private readonly outbox: Outbox,
    @InjectRepository(Ride) private readonly rides: Repository<Ride>,
  ) {}

  /**
   * Three steps, each with a name. Whatever dies in between, a retry with the
   * same key skips the finished ones, gets their results back, and goes on. If the
   * client never retries, a worker calls this method instead, with what was stored.
   */
  @Resumable('rides.create')
  async request({ user, ride: { origin, target, card } }: RideRequest) {
    // Ours alone, so one transaction: the ride, the audit record and the recovery
    // point "ride_created" are all there, or none of them is.
    const ride = await this.phase.local('ride_created', async (tx) => {
      const created = await tx.save(Ride, {
        userId: user.id,
        origin,
        target,
        fare: FARES[target],
        idempotencyKeyId: this.phase.current?.id ?? null,
      });
      await tx.insert(AuditRecord, {
        userId: user.id,
        action: 'ride.created',
        subject: `ride/${created.id}`,
      });
      return { id: created.id, fare: created.fare, createdAt: created.createdAt };
    });

    // Somebody else's, so no transaction can cover it. The intent is committed
    // first, then the provider is called, then the result is committed.
    const charge = { amount: ride.fare, currency: CURRENCY, card, description: `Ride ${ride.id}` };
    const { chargeId } = await this.phase.foreign('charge_created', {
      request: charge,
      // A declined card makes this throw a 402. That is a definite answer, so it
      // becomes the final one: the client gets 402 now and on every retry, and
      // the ride stays on record without a charge. (See TipsService for the other
      // way: a refusal that is recorded and lived with.)
      call: (effect) => this.payments.charge(charge, effect),
      record: async (tx, { id }) => {
        await tx.update(Ride, ride.id, { chargeId: id });
        return { chargeId: id };
      },
      // If the answer is lost, ask again with the same key: the provider charges
      // once per key. It promises to remember keys for a day; after that, asking
      // again could charge again, so the key is kept as `unknown` instead.
      inDoubt: 'repeat',
      keyValidFor: '24h',
      notExecuted: neverReached,
    });

    // A message, and not a mail: it can be rolled back with its transaction. Once
    // it is committed it is sent, however often that has to be tried.
    const receipt: Receipt = { rideId: ride.id, email: user.email, amount: ride.fare };
    await this.phase.local('receipt_staged', (tx) => this.outbox.add(tx, SEND_RECEIPT, receipt));

    return { id: ride.id, origin, target, fare: ride.fare, chargeId, createdAt: ride.createdAt };
  }

  async findOwn(user: User, id: string): Promise<Ride> {
    const ride = await this.rides.findOneBy({ id, userId: user.id });
    if (!ride) {
      throw new NotFoundException(`You have no ride ${id}.`);
    }
    return ride;
  }
}
