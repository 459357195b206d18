import { createHash } from 'node:crypto';
import type { KeyStatus } from '../schema/key-status.js';

/** How far a key has come, as its caller may see it. */
export interface KeyProgress {
  id: string;
  status: KeyStatus;
  /** Nothing is left to do. The answer itself is for a retry of the request. */
  done: boolean;
  recoveryPoint: string;
  attempts: number;
  /** How the resumable operation ended, if it has and there is one. */
  outcome:
    | { kind: 'finished'; result: unknown }
    | { kind: 'rejected'; status: number; response: unknown }
    | null;
  createdAt: Date;
  lastRunAt: Date;
  completedAt: Date | null;
  expiresAt: Date | null;
}

/** What changes while a key comes along. */
export type ProgressMark = Pick<KeyProgress, 'status' | 'recoveryPoint' | 'attempts'>;

/** The same text as long as nothing has changed: the ETag of an answer and the id of an event. */
export function tagOf({ status, recoveryPoint, attempts }: ProgressMark): string {
  const seen = JSON.stringify([status, recoveryPoint, attempts]);
  return createHash('sha256').update(seen).digest('base64url').slice(0, 16);
}

/** Nothing will change any more. An unknown outcome can: somebody may find out. */
export function isSettled({ status }: ProgressMark): boolean {
  return status === 'performed' || status === 'completed' || status === 'expired';
}

/** A worker is at it: most operations take seconds. */
const SOON = 2;

/** Somebody has to find out, or a pause has to pass, before anything changes. */
const LATER = 30;

/** Seconds until it is worth asking again; undefined where nothing will change. */
export function askAgainAfter(mark: ProgressMark): number | undefined {
  if (isSettled(mark)) return undefined;
  return mark.status === 'unknown' ? LATER : SOON;
}

/** Whether the client asks for events. It has to name them: a browser's wildcard means JSON. */
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
