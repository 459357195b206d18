import { WaitingRequests } from '../../lib/keys/waiting-requests.js';
import type { TestApp } from './platforms.js';
import { until } from './until.js';

/** Resolves when that many requests of an application wait for a running attempt to end. */
export async function untilWaiting({ app }: TestApp, count: number): Promise<void> {
  await until(() => app.get(WaitingRequests).waiting === count, `${count} waiting requests`);
}
