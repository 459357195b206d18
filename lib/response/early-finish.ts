import type { ServerResponse } from 'node:http';

type Listener = (...args: unknown[]) => void;

/**
 * A handler may wait until its answer has gone out before it returns: `await
 * pipeline(file, res)` does, and so does who awaits the callback of `end()`. A
 * held answer goes out only after the handler has returned, so both would wait
 * for ever. This tells the listeners that came with the handler, and only those,
 * that the answer has been handed over. Listeners from before the hold (node's
 * own, which lets go of the socket, and loggers) keep waiting for the real event.
 */
export class EarlyFinish {
  constructor(
    private readonly raw: ServerResponse,
    private readonly before: readonly unknown[],
  ) {
    raw.on('newListener', this.onNewListener);
    process.nextTick(this.tell);
  }

  /** The handler has returned: who starts waiting now gets the real event. */
  stop(): void {
    this.raw.removeListener('newListener', this.onNewListener);
  }

  private readonly onNewListener = (event: string | symbol): void => {
    // The listener itself is added right after this event.
    if (event === 'finish') process.nextTick(this.tell);
  };

  private readonly tell = (): void => {
    for (const listener of this.raw.rawListeners('finish') as Listener[]) {
      if (this.before.includes(listener)) continue;
      this.raw.removeListener('finish', listener);
      listener.call(this.raw);
    }
  };
}
