// How to tell the store's statements apart on the wire, by what they do.

export const RESERVE = /INSERT INTO "idempotency_keys"/;
/** Reads the keys that were taken already. */
export const LOOK_UP = /^SELECT [^]*k\.fingerprint/;
export const TAKE_OVER = /SET status = 'in_progress', owner = /;
export const FINISH = /response_body = /;
export const GIVE_BACK = /DELETE FROM "idempotency_keys"[^]*attempt = 1/;
export const HEARTBEAT = /^WITH held AS/;
/** A waiting duplicate looks whether the first attempt has ended. */
export const LOOK = /^SELECT k\.owner/;
