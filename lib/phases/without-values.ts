/**
 * Where TypeORM and pg keep the data of a statement: its parameters, or the row
 * that it failed on.
 */
const WITH_VALUES = ['parameters', 'detail', 'where'] as const;

/**
 * Removes the values from an error of one of the library's statements, in place.
 * The error passes through the application's handler to Nest, which logs all its
 * properties: the results of phases are among the parameters, and the promise of
 * a running statement has the whole context of the request.
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
