import type { Socket } from 'node:net';

/** What goes over one connection, and what may become of an answer. */
export interface Tap {
  wrote(bytes: Buffer): void;
  /** The first bytes have come. @returns what to do with them; undefined lets them through */
  answered(): Interference | undefined;
}

/** The answer gets lost, or another one takes its place. */
export type Interference = { lose: Error } | { replace: string };

const taps = new WeakMap<Socket, { current: Tap }>();

/**
 * Listens to a connection, from now on for this tap. Methods of the one object
 * are replaced, and nothing of Node itself: a connection that nobody taps is as
 * it was.
 */
export function tapSocket(socket: Socket, tap: Tap): void {
  const known = taps.get(socket);
  if (known) {
    known.current = tap;
    return;
  }
  const tapped = { current: tap };
  taps.set(socket, tapped);
  const { write, end, push } = socket;
  socket.write = function (this: Socket, ...args: Parameters<Socket['write']>) {
    tapped.current.wrote(bytesOf(args[0], args[1]));
    return write.apply(this, args);
  } as Socket['write'];
  socket.end = function (this: Socket, ...args: unknown[]) {
    const [chunk, encoding] = args;
    const written = chunk !== undefined && chunk !== null && typeof chunk !== 'function';
    if (written) tapped.current.wrote(bytesOf(chunk, encoding));
    return (end as (...all: unknown[]) => Socket).apply(this, args);
  } as Socket['end'];

  let deaf = false;
  socket.push = function (this: Socket, chunk: unknown, encoding?: BufferEncoding) {
    if (deaf) return true;
    const interference = chunk === null ? undefined : tapped.current.answered();
    if (!interference) return push.call(this, chunk, encoding);
    deaf = true;
    if ('lose' in interference) {
      this.destroy(interference.lose);
      return false;
    }
    push.call(this, Buffer.from(interference.replace));
    return push.call(this, null);
  };
}

function bytesOf(chunk: unknown, encoding: unknown): Buffer {
  if (typeof chunk !== 'string') return Buffer.from(chunk as Uint8Array);
  return Buffer.from(chunk, typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8');
}
