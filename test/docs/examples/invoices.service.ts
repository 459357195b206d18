import { Injectable } from '@nestjs/common';
import { AtomicPhase, Idempotency } from 'nestjs-atomic-idempotency';

@Injectable()
export class InvoicesService {
  constructor(
    private readonly idempotency: Idempotency,
    private readonly phases: AtomicPhase,
  ) {}

  /** Called by every process at midnight. One of them does the work. */
  async closeDay(day: string) {
    return this.idempotency.run(
      { name: 'invoices.close_day', scope: 'billing', key: day, phased: true, retention: '30d' },
      async () => {
        const { count } = await this.phases.local('invoices_made', async (tx) => {
          const made = await tx.query<unknown[]>(
            'INSERT INTO invoices (day) VALUES ($1) RETURNING id',
            [day],
          );
          return { count: made.length };
        });
        return { day, count };
      },
    );
  }
}
