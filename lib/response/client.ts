import type { ServerResponse } from 'node:http';

/** Whether somebody still waits for the answer. */
export interface Client {
  readonly gone: boolean;
  /** Calls `leave` once when the client hangs up. What is returned takes that back. */
  whenGone(leave: () => void): () => void;
}

/** The client at the other end of a node response. */
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
