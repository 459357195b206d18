// How to tell the outbox's statements apart on the wire, by what they do.

export const CLAIM = /SET lease_token = \$2, attempts = m\.attempts \+ 1/;
export const DELIVERED = /DELETE FROM "idempotency_outbox"/;
export const FAILED = /dead_at = now/;
export const RENEW = /"idempotency_outbox"[^]*renewed/;
