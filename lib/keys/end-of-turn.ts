let end: Promise<void> | undefined;

/**
 * Resolves when everything that this turn of the event loop brought has been
 * looked at. On an idle server that is at once.
 */
export function endOfTurn(): Promise<void> {
  return (end ??= new Promise((resolve) =>
    setImmediate(() => {
      end = undefined;
      resolve();
    }),
  ));
}
