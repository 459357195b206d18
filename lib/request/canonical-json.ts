/**
 * Far below the depth at which the stack overflows: near it, a body could be
 * accepted once and refused in its retry, which may run on a deeper stack.
 */
const DEEPEST = 2_000;

/**
 * The canonical form of a JSON value (RFC 8785): no white space, members sorted
 * by their names' UTF-16 code units, numbers and strings as JSON.stringify writes
 * them. Undefined for a value that JSON leaves out.
 *
 * Throws if there is no such form: half of a surrogate pair, a number that is not
 * finite, a BigInt, a circular value, more levels than DEEPEST.
 */
export function canonicalJson(value: unknown, depth = 0): string | undefined {
  switch (typeof value) {
    case 'string':
      return text(value);
    case 'number':
      if (!Number.isFinite(value)) throw new TypeError(`${value} is no JSON number.`);
      return String(value === 0 ? 0 : value);
    case 'object':
      if (value === null) return 'null';
      if (depth === DEEPEST) throw new RangeError(`More than ${DEEPEST} levels.`);
      if (Array.isArray(value)) return array(value, depth + 1);
      return isConvertible(value)
        ? canonicalJson(value.toJSON(), depth + 1)
        : object(value, depth + 1);
    default:
      return JSON.stringify(value);
  }
}

function text(value: string): string {
  if (!value.isWellFormed()) throw new TypeError('Half of a surrogate pair has no UTF-8 form.');
  return JSON.stringify(value);
}

function array(values: unknown[], depth: number): string {
  let json = '[';
  for (let i = 0; i < values.length; i++) {
    if (i > 0) json += ',';
    json += canonicalJson(values[i], depth) ?? 'null';
  }
  return `${json}]`;
}

function object(value: object, depth: number): string {
  let json = '{';
  for (const name of sortedNames(value)) {
    const member = canonicalJson((value as Record<string, unknown>)[name], depth);
    if (member === undefined) continue;
    json += `${json.length > 1 ? ',' : ''}${text(name)}:${member}`;
  }
  return `${json}}`;
}

/** Objects with more members are sorted by V8, which copies them several times for that. */
const FEW_MEMBERS = 16;

function sortedNames(value: object): string[] {
  const names = Object.keys(value);
  if (names.length > FEW_MEMBERS) return names.sort();
  for (let i = 1; i < names.length; i++) {
    const name = names[i]!;
    let at = i;
    for (; at > 0 && names[at - 1]! > name; at--) names[at] = names[at - 1]!;
    names[at] = name;
  }
  return names;
}

function isConvertible(value: object): value is { toJSON(): unknown } {
  return typeof (value as { toJSON?: unknown }).toJSON === 'function';
}
