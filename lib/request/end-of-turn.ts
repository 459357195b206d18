let end: Promise<void> | undefined;

/**
 * Resolves when everything that this turn of the event loop brought has been
 * looked at; on an idle server that is at once. Requests that came together are
 * then decided together, and their answers leave together: the machine is spared
 * from switching to each client and back.
 */
export function endOfTurn(): Promise<void> {
  return (end ??= new Promise((resolve) =>
    setImmediate(() => {
      end = undefined;
      resolve();
    }),
  ));
}
