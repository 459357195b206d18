/** Where TypeORM and pg keep what a statement was about: its parameters, or the row that it failed on. */
const WITH_VALUES = ['parameters', 'detail', 'where'] as const;

/**
 * Takes the values out of an error of one of our own statements, in place. It
 * goes through the user's handler to Nest, which logs all that an error has: the
 * results of phases among the parameters, and, at the promise of a statement
 * that is still on its way, the whole context of the request.
 */
export function withoutValues(error: unknown): unknown {
  let at = error as ErrorWithValues | undefined;
  for (let depth = 0; at && depth < 5; depth++) {
    for (const name of WITH_VALUES) delete at[name];
    if (at.late) Object.defineProperty(at, 'late', { enumerable: false });
    at = at.driverError ?? (at.cause as ErrorWithValues | undefined);
  }
  return error;
}

/** For `catch()`. */
export function throwWithoutValues(error: unknown): never {
  throw withoutValues(error);
}

interface ErrorWithValues extends Error, Partial<Record<(typeof WITH_VALUES)[number], unknown>> {
  late?: unknown;
  driverError?: ErrorWithValues;
}
