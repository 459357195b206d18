const EVERY_MS = 500;

/**
 * Resolves on Ctrl-C, on SIGTERM, and when the process that started this one is
 * gone. The last, because npm runs scripts through a shell that does not pass
 * signals on: whoever ends npm would leave us behind, with all that we started.
 */
export function whenAskedToEnd(): Promise<void> {
  return new Promise((resolve) => {
    process.once('SIGINT', () => resolve());
    process.once('SIGTERM', () => resolve());
    const parent = process.ppid;
    const watch = setInterval(() => {
      if (process.ppid !== parent) resolve();
    }, EVERY_MS);
    watch.unref();
  });
}
