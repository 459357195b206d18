import { Body, Controller, HttpException, Injectable, Post, type Type } from '@nestjs/common';
import {
  AtomicPhase,
  Idempotent,
  Resumable,
  type IdempotencyPolicy,
} from 'nestjs-atomic-idempotency';

/** The other system, with what it was asked to do under which key. */
export class Provider {
  readonly charges: string[] = [];
  /** What the next calls do instead of charging. */
  readonly troubles: (() => void)[] = [];

  charge(effectKey: string): { charge: string } {
    this.troubles.shift()?.();
    if (!this.charges.includes(effectKey)) this.charges.push(effectKey);
    return { charge: effectKey };
  }
}

export interface Ride {
  target: string;
  inDoubt?: 'repeat' | 'stop';
}

@Injectable()
export class Rides {
  runs = 0;
  /** A deployment, or a flag, that has the operation take another way. */
  free = false;

  constructor(
    private readonly phase: AtomicPhase,
    private readonly provider: Provider,
  ) {}

  @Resumable('rides.create')
  async create(ride: Ride): Promise<object> {
    this.runs += 1;
    const { id } = await this.phase.local('ride_created', async (tx) => {
      const [row] = (await tx.query('INSERT INTO rides (target) VALUES ($1) RETURNING id', [
        ride.target,
      ])) as { id: number }[];
      return row!;
    });
    if (this.free) return { id };
    const { charge } = await this.phase.foreign('charge_created', {
      inDoubt: ride.inDoubt ?? 'repeat',
      call: async ({ idempotencyKey }) => this.provider.charge(idempotencyKey),
    });
    return { id, charge };
  }
}

/** A controller whose routes have the given policy. */
export function ridesController(policy: IdempotencyPolicy = {}): Type {
  @Controller()
  class RidesController {
    constructor(private readonly rides: Rides) {}

    @Post('rides')
    @Idempotent(policy)
    create(@Body() ride: Ride): Promise<object> {
      return this.rides.create(ride);
    }
  }
  return RidesController;
}

export function declined(): never {
  throw new HttpException({ declined: true }, 402);
}

export function timedOut(): never {
  throw new Error('time-out');
}
