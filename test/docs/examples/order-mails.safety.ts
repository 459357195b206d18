import type { INestApplicationContext } from '@nestjs/common';
import { verifyDelivery } from 'nestjs-atomic-idempotency/testing';
import { Mailer } from './mailer.js';

export async function mailsLeaveOnce(app: INestApplicationContext): Promise<string> {
  const mailer = app.get(Mailer);
  const { table } = await verifyDelivery(app, {
    message: (n) => ({ topic: 'orders.confirm', payload: { order: n, to: 'alice@example.com' } }),
    observe: () => ({ mails: mailer.sent.size }),
    expected: { mails: 1 },
  });
  return table;
}
