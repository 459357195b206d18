/**
 * How many items of a bulk action run at once: enough to share commits on the
 * server, and few enough to leave connections for requests in a pool of the usual
 * size (10).
 */
const AT_ONCE = 4;

/**
 * Does the same to each item, a few at a time, begun in their order. After an
 * error no further item is begun; it is thrown when those under way have ended.
 */
export async function severalAtOnce<Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const left = items.values();
  const errors: unknown[] = [];
  const worker = async () => {
    for (const item of left) {
      if (errors.length > 0) return;
      try {
        await work(item);
      } catch (error) {
        errors.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  if (errors.length > 0) throw errors[0];
}
