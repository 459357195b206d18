/** The life of a key; docs/how-it-works.md draws it. */
export const KEY_STATUSES = [
  'pending',
  'in_progress',
  'completed',
  'failed_retryable',
  'unknown',
  'expired',
] as const;

export type KeyStatus = (typeof KEY_STATUSES)[number];
