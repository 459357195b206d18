/**
 * Marks an error whose message the library wrote: it contains nothing of a user, so
 * logs may show it even where the texts of other errors are withheld.
 */
export const OWN_WORDS = Symbol('nestjs-atomic-idempotency:own words');
