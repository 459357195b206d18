import type { Random } from '../random.js';
import { CUSTOMERS } from '../shop/tables.js';
import type { InDoubt, Purchase } from '../shop/purchases.js';

export const ROUTES = ['now', 'patient', 'resumable', 'background', 'brief'] as const;
export type Route = (typeof ROUTES)[number];

/** What one client wants, under one key, and how it goes about it. */
export interface Errand {
  key: string;
  route: Route;
  purchase: Purchase;
  /** Requests that are sent at the same time in the beginning. */
  duplicates: number;
  /** How often it asks again before it leaves for good. */
  retries: number;
  random: Random;
}

/** The routes whose histories can be compared with the model: no worker takes part in them. */
export function isModelled({ route }: Errand): boolean {
  return route === 'now' || route === 'patient' || route === 'brief';
}

/** What the keys begin with that are forgotten during the run. */
export const BRIEF = 'brief-';

export function isBrief({ route }: Errand): boolean {
  return route === 'brief';
}

export function planErrand(number: number, all: Random): Errand {
  const random = all.fork(`errand ${number}`);
  const inDoubt = random.pick<InDoubt>(['repeat', 'repeat', 'reconcile', 'reconcile', 'stop']);
  const route = random.pick<Route>([
    'now',
    'now',
    'now',
    'patient',
    'patient',
    'resumable',
    'background',
    'brief',
    'brief',
  ]);
  return {
    key: `${route === 'brief' ? BRIEF : 'errand-'}${number}`,
    route,
    purchase: {
      customer: random.pick(CUSTOMERS),
      amount: random.integer(1, 9_999),
      // A transfer has no card, so it cannot be declined.
      card: inDoubt !== 'stop' && random.chance(0.1) ? 'card_declined' : 'card_visa',
      inDoubt,
    },
    duplicates: random.chance(0.3) ? random.integer(2, 4) : 1,
    retries: random.chance(0.2) ? 0 : random.integer(3, 8),
    random,
  };
}
