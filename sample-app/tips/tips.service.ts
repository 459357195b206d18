import { Injectable } from '@nestjs/common';
import { AtomicPhase } from 'nestjs-atomic-idempotency';
import type { User } from '../auth/user.js';
import { neverReached } from '../payments/never-reached.js';
import { PaymentClient, type TransferRequest } from '../payments/payment-client.js';
import { PaymentDeclinedException } from '../payments/payment-declined.exception.js';
import { CURRENCY } from '../rides/fares.js';
import { RidesService } from '../rides/rides.service.js';
import type { CreateTipDto } from './create-tip.dto.js';
import { Tip } from './tip.entity.js';

@Injectable()
export class TipsService {
  constructor(
    private readonly phase: AtomicPhase,
    private readonly payments: PaymentClient,
    private readonly rides: RidesService,
  ) {}

  async tip(user: User, rideId: string, { amount }: CreateTipDto) {
    const ride = await this.rides.findOwn(user, rideId);
    const transfer: TransferRequest = {
      amount,
      currency: CURRENCY,
      recipient: `pilot of ride ${ride.id}`,
      description: `Tip of ${user.id}`,
    };
    return this.phase.foreign('tip_transferred', {
      request: transfer,
      call: async ({ signal }) => {
        try {
          const { id } = await this.payments.transfer(transfer, { signal });
          return { transferId: id, declined: null };
        } catch (error) {
          // A refusal becomes the phase's result: the tip is stored as declined,
          // and a request with more phases would go on with this one finished.
          // (RidesService shows the other way: let it through as the answer.)
          if (error instanceof PaymentDeclinedException) {
            return { transferId: null, declined: error.reason };
          }
          // Nothing else may be caught here. "No answer" is not "no".
          throw error;
        }
      },
      record: (tx, outcome) => tx.save(Tip, { rideId: ride.id, amount, ...outcome }),
      // Transfers know no keys: asking again could pay twice, and nobody can tell
      // from here whether the first one went through. So stop, keep the key as
      // `unknown`, and answer 409 until somebody has found out. It is the
      // default, written down here because it is the point.
      inDoubt: 'stop',
      notExecuted: neverReached,
    });
  }
}
