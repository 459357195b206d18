let end: Promise<void> | undefined;

/**
 * Resolves when everything that this turn of the event loop brought has been
 * looked at. Answers that need no waiting leave together then: the machine is
 * spared from switching to their clients and back after each one. On an idle
 * server that is at once.
 */
export function endOfTurn(): Promise<void> {
  return (end ??= new Promise((resolve) =>
    setImmediate(() => {
      end = undefined;
      resolve();
    }),
  ));
}
