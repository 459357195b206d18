import type { ServerResponse } from 'node:http';

type Listener = (...args: unknown[]) => void;

/**
 * While a large answer waits to be recorded, its writer is told to wait for
 * `drain`. The response itself may never emit it, because nothing was written to
 * it yet; and compression middleware moves such listeners to its own stream,
 * where `emit` does not reach them. So the listeners are remembered when they are
 * added.
 */
export class OwedDrain {
  private readonly listeners: Listener[] = [];
  private readonly on: ServerResponse['on'];

  constructor(private readonly raw: ServerResponse) {
    const on = raw.on;
    this.on = on;
    const noteDrain = (event: string, listener: Listener): ServerResponse => {
      if (event === 'drain') this.listeners.push(listener);
      return on.call(raw, event, listener);
    };
    raw.on = noteDrain as ServerResponse['on'];
  }

  /** @param blocked what was held did not fit into the connection: the real `drain` will come. */
  pay(blocked: boolean): void {
    const { raw } = this;
    raw.on = this.on;
    if (blocked) return;
    const reached = raw.rawListeners('drain') as Listener[];
    raw.emit('drain');
    for (const listener of this.listeners) {
      if (!reached.includes(listener)) listener.call(raw);
    }
  }
}
