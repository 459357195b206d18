import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { isClosed } from './client.js';
import { CollectedBody, toBuffer } from './collected-body.js';
import type { HoldOptions } from './http-platform.js';
import { ResumedStream } from './resumed-stream.js';

export type StreamedBody =
  | { kind: 'whole'; body: Buffer }
  /** Too large, or its source failed midway: the part that was read, then the rest or the error. */
  | { kind: 'partial'; stream: Readable }
  /** The client left. */
  | { kind: 'broken off' };

/**
 * Reads a stream up to its end. One that exceeds the limit is read until the
 * handler has ended, and then returned. Throws if the source fails before its
 * first chunk: the application's error handling can still answer.
 */
export async function readStreamedBody(
  source: Readable,
  raw: ServerResponse,
  { maxBytes, handlerEnd }: HoldOptions,
): Promise<StreamedBody> {
  const read = new CollectedBody();
  const iterator = source[Symbol.asyncIterator]();
  const ended = new Promise<'handler ended'>((resolve) =>
    handlerEnd.wait(() => resolve('handler ended')),
  );
  let onClose!: () => void;
  const closed = new Promise<'closed'>((resolve) => (onClose = () => resolve('closed')));
  if (isClosed(raw)) onClose();
  else raw.once('close', onClose);

  const partial = (next: Promise<IteratorResult<unknown>>): StreamedBody => ({
    kind: 'partial',
    stream: new ResumedStream(source, iterator, read.take(), next),
  });

  try {
    for (;;) {
      const next = iterator.next();
      // A source that waits for something may not notice that it was destroyed, so only the
      // client's departure ends the wait for it.
      const event = await Promise.race(
        read.size > maxBytes ? [ended, next, closed] : [next, closed],
      );
      if (event === 'closed') {
        next.catch(() => undefined);
        source.destroy();
        return { kind: 'broken off' };
      }
      if (event === 'handler ended') return partial(next);
      if (event.done) return { kind: 'whole', body: read.whole() };
      read.push(toBuffer(event.value));
    }
  } catch (error) {
    if (read.size === 0) throw error;
    return partial(Promise.reject(error as Error));
  } finally {
    raw.removeListener('close', onClose);
  }
}

/** Anything that Fastify treats as a stream, as a Node stream. */
export function toReadable(payload: unknown): Readable | undefined {
  if (typeof payload !== 'object' || payload === null) return undefined;
  if ('getReader' in payload) {
    return Readable.fromWeb(payload as Parameters<typeof Readable.fromWeb>[0]);
  }
  if (!('pipe' in payload)) return undefined;
  // Old streams have no async iterator.
  return Symbol.asyncIterator in payload
    ? (payload as Readable)
    : new Readable().wrap(payload as NodeJS.ReadableStream);
}
