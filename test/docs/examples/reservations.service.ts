import { Injectable } from '@nestjs/common';
import { AtomicPhase } from 'nestjs-atomic-idempotency';
import { createIdempotentFetch, resultOf } from 'nestjs-atomic-idempotency/client';

const warehouse = createIdempotentFetch();

@Injectable()
export class ReservationsService {
  constructor(private readonly phase: AtomicPhase) {}

  reserve(item: string) {
    return this.phase.foreign('item_reserved', {
      // The client uses the effect key of the phase that it is called in.
      call: async () => {
        const response = await warehouse(`${process.env.WAREHOUSE_URL}/reservations`, {
          method: 'POST',
          headers: { 'Content-Type': 'application/json' },
          body: JSON.stringify({ item }),
        });
        return resultOf<{ id: string }>(response);
      },
      inDoubt: 'repeat', // the warehouse honours the effect key
      keyValidFor: '23h', // and keeps it for a day
    });
  }
}
