/** Waits, unless one of the signals fires: then it throws that one's reason. */
export function pause(milliseconds: number, signals: readonly AbortSignal[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const stopListening = whenAborted(signals, (reason) => {
      clearTimeout(timer);
      reject(reason as Error);
    });
    const timer = setTimeout(() => {
      stopListening();
      resolve();
    }, milliseconds);
  });
}

/** @returns how to stop listening */
export function whenAborted(
  signals: readonly AbortSignal[],
  abort: (reason: unknown) => void,
): () => void {
  const stops = signals.map((signal) => {
    const listener = () => abort(signal.reason);
    if (signal.aborted) queueMicrotask(listener);
    signal.addEventListener('abort', listener);
    return () => signal.removeEventListener('abort', listener);
  });
  return () => stops.forEach((stop) => stop());
}
