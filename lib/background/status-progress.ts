import { createHash } from 'node:crypto';
import type { KeyStatus } from '../schema/key-status.js';

/** The progress of a key, as its client sees it. */
export interface KeyProgress {
  id: string;
  status: KeyStatus;
  /** The work is finished. A retry of the request gets the answer. */
  done: boolean;
  recoveryPoint: string;
  attempts: number;
  /** The outcome of the resumable operation, once it has ended. */
  outcome:
    | { kind: 'finished'; result: unknown }
    | { kind: 'rejected'; status: number; response: unknown }
    | null;
  createdAt: Date;
  lastRunAt: Date;
  completedAt: Date | null;
  expiresAt: Date | null;
}

/** What changes while a key makes progress. */
export type ProgressMark = Pick<KeyProgress, 'status' | 'recoveryPoint' | 'attempts'>;

/** The same string as long as nothing has changed: the ETag of an answer and the id of an event. */
export function tagOf({ status, recoveryPoint, attempts }: ProgressMark): string {
  const seen = JSON.stringify([status, recoveryPoint, attempts]);
  return createHash('sha256').update(seen).digest('base64url').slice(0, 16);
}

/** Nothing will change any more. An unknown outcome may still be resolved. */
export function isSettled({ status }: ProgressMark): boolean {
  return status === 'performed' || status === 'completed' || status === 'expired';
}

/** While a worker runs it: most operations take seconds. */
const SOON = 2;

/** While it waits for a resolution or for the next attempt. */
const LATER = 30;

/** Seconds until it is worth asking again; undefined if nothing will change. */
export function askAgainAfter(mark: ProgressMark): number | undefined {
  if (isSettled(mark)) return undefined;
  return mark.status === 'unknown' ? LATER : SOON;
}

/**
 * Whether the client asks for events. It has to name them: a wildcard, as
 * browsers send it, means JSON.
 */
export function wantsEvents(accept: string | undefined): boolean {
  const events = quality(accept, 'text/event-stream');
  return events > 0 && events >= quality(accept, 'application/json');
}

function quality(accept = '', type: string): number {
  for (const range of accept.split(',')) {
    const [name, ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    if (name !== type) continue;
    const q = parameters.find((parameter) => parameter.startsWith('q='));
    return q === undefined ? 1 : Number(q.slice(2)) || 0;
  }
  return 0;
}
