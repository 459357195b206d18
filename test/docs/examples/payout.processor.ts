import { Injectable } from '@nestjs/common';
import { Idempotency, IdempotencyRefusedError } from 'nestjs-atomic-idempotency';

interface Job<T> {
  id: string;
  data: T;
}

@Injectable()
export class PayoutProcessor {
  constructor(private readonly idempotency: Idempotency) {}

  /** As BullMQ's `WorkerHost` calls it. */
  async process(job: Job<{ account: string; amount: number }>) {
    try {
      return await this.idempotency.run(
        { name: 'payouts', scope: job.data.account, key: job.id, fingerprint: job.data },
        () => this.payOut(job.data),
      );
    } catch (error) {
      // A redelivery cannot find out more. The key is kept, and the reconciler or a person decides.
      if (error instanceof IdempotencyRefusedError && error.code === 'outcome_unknown') return;
      throw error;
    }
  }

  private async payOut({ amount }: { amount: number }) {
    return { paid: amount };
  }
}
