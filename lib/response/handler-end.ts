/**
 * The end of a handler and its interceptors, for those that wait for it. Not a
 * promise: every request has one, and most often nobody waits.
 */
export class HandlerEnd {
  private waiting: (() => void)[] | undefined;
  private over = false;

  get isOver(): boolean {
    return this.over;
  }

  /** Calls back when the handler has ended; at once if it has. */
  wait(callback: () => void): void {
    if (this.over) callback();
    else (this.waiting ??= []).push(callback);
  }

  /** The handler has ended. In the order in which they came, all who wait are told. */
  readonly tell = (): void => {
    if (this.over) return;
    this.over = true;
    for (const callback of this.waiting ?? []) callback();
  };
}
