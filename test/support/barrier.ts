export interface Barrier {
  /** Called by the code under test: waits until the barrier is open. */
  pass(): Promise<void>;
  /** Resolves once this many have come to the barrier, waiting or already through. */
  arrived(count?: number): Promise<void>;
  /** Lets everybody through, now and from now on. */
  open(): void;
  /** How many have come so far. */
  readonly count: number;
}

/** A place where a test holds a handler until it has seen what it came for. */
export function barrier(): Barrier {
  let open!: () => void;
  const opened = new Promise<void>((resolve) => (open = resolve));
  const expectations: { count: number; met: () => void }[] = [];
  let count = 0;

  return {
    pass() {
      count += 1;
      for (const expectation of expectations) if (count >= expectation.count) expectation.met();
      return opened;
    },
    arrived(expected = 1) {
      if (count >= expected) return Promise.resolve();
      return new Promise((met) => expectations.push({ count: expected, met }));
    },
    open,
    get count() {
      return count;
    },
  };
}
