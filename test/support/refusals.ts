import { expect } from '@jest/globals';
import type { Received } from './http.js';

/** A refusal of ours that invites the client to come again with the same key. */
export function expectRetryable(answer: Received, status: number, code: string): void {
  expect(answer.status).toBe(status);
  expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json/);
  expect(answer.json()).toMatchObject({ status, code, retryable: true });
  expect(answer.headers.get('retry-after')).toMatch(/^[1-9]$|^[1-5][0-9]$/);
  expect(answer.headers.get('idempotent-replayed')).toBeNull();
}
