let end: Promise<void> | undefined;

/** Resolves at the end of this turn of the event loop. On an idle server that is at once. */
export function endOfTurn(): Promise<void> {
  return (end ??= new Promise((resolve) =>
    setImmediate(() => {
      end = undefined;
      resolve();
    }),
  ));
}
