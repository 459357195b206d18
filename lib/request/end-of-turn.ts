let end: Promise<void> | undefined;

/**
 * Resolves at the end of this turn of the event loop; on an idle server that is at
 * once. Requests of one turn are then decided together, and their answers are sent
 * together, which saves context switches.
 */
export function endOfTurn(): Promise<void> {
  return (end ??= new Promise((resolve) =>
    setImmediate(() => {
      end = undefined;
      resolve();
    }),
  ));
}
