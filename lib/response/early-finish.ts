import type { ServerResponse } from 'node:http';

type Listener = (...args: unknown[]) => void;

/**
 * A handler may wait until its answer has gone out before it returns:
 * `await pipeline(file, res)` does, and so does code that awaits the callback of
 * `end()`. A held answer is sent only after the handler has returned, so both
 * would wait for ever. This tells the listeners that the handler added, and only
 * those, that the answer has been handed over. Listeners from before the hold
 * (Node's own, which releases the socket, and loggers) wait for the real event.
 */
export class EarlyFinish {
  constructor(
    private readonly raw: ServerResponse,
    private readonly before: readonly unknown[],
  ) {
    raw.on('newListener', this.onNewListener);
    process.nextTick(this.tell);
  }

  /** The handler has returned: listeners that are added now get the real event. */
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
