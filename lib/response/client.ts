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

/** The client of a Node response. */
export class ConnectedClient implements Client {
  constructor(private readonly raw: ServerResponse) {}

  get gone(): boolean {
    return this.raw.destroyed;
  }

  whenGone(leave: () => void): () => void {
    this.raw.once('close', leave);
    return () => void this.raw.removeListener('close', leave);
  }
}
