/** What a flight costs, in cents. The server sets the price, never the client. */
export const FARES = {
  moon: 4_900,
  mars: 19_900,
  europa: 79_900,
} as const;

export type Target = keyof typeof FARES;

export const CURRENCY = 'usd';
