export interface User {
  id: string;
  email: string;
}

/**
 * Two users are enough to show that their keys never meet. A real app would look
 * up a session or verify a JWT here.
 */
const USERS_BY_TOKEN: ReadonlyMap<string, User> = new Map([
  ['token-of-ada', { id: 'ada', email: 'ada@example.com' }],
  ['token-of-grace', { id: 'grace', email: 'grace@example.com' }],
]);

export const TOKENS = [...USERS_BY_TOKEN.keys()];

export function userWithToken(token: string): User | undefined {
  return USERS_BY_TOKEN.get(token);
}
