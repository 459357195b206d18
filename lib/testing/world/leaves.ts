/**
 * A value as its leaves, by path: `{ items: [{ id: 1 }] }` has `items[].id`.
 * The elements of a list share a path, because a list may grow from run to run.
 */
export function leavesOf(value: unknown): Map<string, Set<string>> {
  const leaves = new Map<string, Set<string>>();
  collect(value, '', leaves);
  return leaves;
}

function collect(value: unknown, path: string, leaves: Map<string, Set<string>>): void {
  if (Array.isArray(value)) {
    add(leaves, `${path}.length`, value.length);
    for (const element of value) collect(element, `${path}[]`, leaves);
    return;
  }
  if (value !== null && typeof value === 'object') {
    for (const [name, member] of Object.entries(value)) {
      collect(member, path === '' ? name : `${path}.${name}`, leaves);
    }
    return;
  }
  add(leaves, path, value);
}

function add(leaves: Map<string, Set<string>>, path: string, value: unknown): void {
  const text = JSON.stringify(value) ?? 'undefined';
  const known = leaves.get(path);
  if (known) known.add(text);
  else leaves.set(path, new Set([text]));
}

/** Whether two sets of leaves at one path are the same. */
export function sameLeaves(
  one: ReadonlySet<string> | undefined,
  other: ReadonlySet<string> | undefined,
): boolean {
  if (!one || !other || one.size !== other.size) return false;
  for (const leaf of one) if (!other.has(leaf)) return false;
  return true;
}

/** Whether a path is the given one, or below it. */
export function isAtOrBelow(path: string, above: string): boolean {
  return (
    path === above || path.startsWith(`${above}.`) || path.startsWith(`${above}[]`) || above === ''
  );
}
