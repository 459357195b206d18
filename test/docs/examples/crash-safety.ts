import type { INestApplication } from '@nestjs/common';
import { verifyCrashSafety } from 'nestjs-atomic-idempotency/testing';

export async function checkoutSurvivesCrashes(app: INestApplication): Promise<string> {
  const { table } = await verifyCrashSafety(app, {
    path: '/checkout',
    headers: { authorization: 'Bearer alice' },
    body: { item: 'rocket', amount: 4200 },
  });
  return table;
}
