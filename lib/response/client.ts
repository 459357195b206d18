import type { ServerResponse } from 'node:http';

/** Whether the client still waits for the answer. */
export interface Client {
  readonly gone: boolean;
  /**
   * Calls `leave` once when the client disconnects. Returns a function that
   * removes the listener.
   */
  whenGone(leave: () => void): () => void;
}

/** Whether a response can reach nobody any more. One of HTTP/2 says so of its stream only. */
export function isClosed(raw: ServerResponse): boolean {
  const { stream } = raw as { stream?: { destroyed: boolean } };
  return raw.destroyed || stream?.destroyed === true;
}

/** The client of a Node response. */
export class ConnectedClient implements Client {
  constructor(private readonly raw: ServerResponse) {}

  get gone(): boolean {
    return isClosed(this.raw);
  }

  whenGone(leave: () => void): () => void {
    this.raw.once('close', leave);
    return () => void this.raw.removeListener('close', leave);
  }
}
