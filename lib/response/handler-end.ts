/**
 * Tells listeners when a handler and its interceptors have ended. Not a promise:
 * every request has one, and usually nobody listens.
 */
export class HandlerEnd {
  private waiting: (() => void)[] | undefined;
  private over = false;
  /**
   * It ended with a value, which Nest sends. Otherwise an exception filter answers, or the
   * application's own code, which may still be at work.
   */
  hasValue = false;

  get isOver(): boolean {
    return this.over;
  }

  /** Calls back when the handler has ended; at once if it has. */
  wait(callback: () => void): void {
    if (this.over) callback();
    else (this.waiting ??= []).push(callback);
  }

  /** The handler has ended: calls the listeners, in the order in which they were added. */
  readonly tell = (): void => {
    if (this.over) return;
    this.over = true;
    for (const callback of this.waiting ?? []) callback();
  };
}
