/** Long enough for a statement; one that waits for a lock of the other's would wait for ever. */
const PATIENCE = 100;

/**
 * Has two deliveries take their steps together, so that each looks before the
 * other has acted. Where one cannot come, because it waits for the other in the
 * database or is through, the other goes on.
 */
export class Lockstep {
  private waiting: (() => void) | undefined;
  private over = false;

  /** Resolves when the other one is there too. */
  meet(): Promise<void> {
    if (this.over) return Promise.resolve();
    const { waiting } = this;
    if (waiting) {
      this.waiting = undefined;
      waiting();
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      const go = () => {
        clearTimeout(timer);
        if (this.waiting === go) this.waiting = undefined;
        resolve();
      };
      const timer = setTimeout(go, PATIENCE);
      this.waiting = go;
    });
  }

  /** One of the two is through. */
  end(): void {
    this.over = true;
    this.waiting?.();
  }
}
