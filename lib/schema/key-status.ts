/** The life of a key; docs/concepts/states.md draws it. */
export const KEY_STATUSES = [
  'pending',
  'in_progress',
  /** A worker has finished the operation; the client's retry renders and stores the answer. */
  'performed',
  'completed',
  'failed_retryable',
  'unknown',
  'expired',
] as const;

export type KeyStatus = (typeof KEY_STATUSES)[number];
