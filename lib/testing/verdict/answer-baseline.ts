import type { KitAnswer } from '../crash-safety.report.js';
import { isAtOrBelow, leavesOf, sameLeaves } from '../world/leaves.js';

type Leaves = Map<string, Set<string>>;

/**
 * What undisturbed runs answer. What differs between them is set aside; the rest
 * has to be the same after a crash. A list may grow, and what was null may have a
 * value: earlier runs leave their traces. What had a value must have one.
 */
export class AnswerBaseline {
  private readonly leaves: Leaves[];
  private readonly varying = new Set<string>();

  constructor(
    private readonly undisturbed: readonly KitAnswer[],
    private readonly ignored: readonly string[],
  ) {
    this.leaves = undisturbed.flatMap((answer) => this.read(answer) ?? []);
    for (const [index, run] of this.leaves.entries()) {
      for (const other of this.leaves.slice(index + 1)) this.learn(run, other);
    }
  }

  /** How an answer differs, in words; undefined where it does not. */
  difference(answer: KitAnswer): string | undefined {
    const expected = this.undisturbed.at(-1)!;
    if (!this.undisturbed.some(({ status }) => status === answer.status)) {
      return `status ${answer.status} instead of ${expected.status}`;
    }
    if (!this.undisturbed.some(({ contentType }) => contentType === answer.contentType)) {
      return `media type ${answer.contentType} instead of ${expected.contentType}`;
    }
    const leaves = this.read(answer);
    const baseline = this.leaves.at(-1);
    if (!leaves || !baseline) {
      return !!leaves === !!baseline ? undefined : 'a body of another kind';
    }
    for (const [path, values] of baseline) {
      const found = this.compare(path, values, leaves.get(path), leaves);
      if (found !== undefined) return found;
    }
    for (const path of leaves.keys()) {
      if (!baseline.has(path) && !this.mayAppear(path, baseline)) {
        return `${path}, which is not there without a crash`;
      }
    }
    return undefined;
  }

  private learn(one: Leaves, other: Leaves): void {
    for (const path of new Set([...one.keys(), ...other.keys()])) {
      if (!sameLeaves(one.get(path), other.get(path))) this.varying.add(path);
    }
  }

  private compare(
    path: string,
    expected: Set<string>,
    found: Set<string> | undefined,
    leaves: Leaves,
  ): string | undefined {
    // A list that grows has other elements, and another length, each time.
    if (path.includes('[]') || path.endsWith('.length')) {
      const lengths = this.varying.has(lengthOf(path));
      if (lengths && (found === undefined || path.endsWith('.length'))) return undefined;
    }
    if (isOnlyNull(expected)) return undefined;
    if (found === undefined) {
      const above = [...leaves.keys()].some((other) => isAtOrBelow(path, other) && other !== '');
      if (this.varying.has(path) && above) return undefined;
      return this.varying.has(path) && this.leaves.some((each) => !each.has(path))
        ? undefined
        : `no ${path}`;
    }
    if (this.varying.has(path)) {
      if (!this.wasEverNull(path) && found.has('null')) return `${path} is null`;
      return undefined;
    }
    return sameLeaves(expected, found)
      ? undefined
      : `${path} ${[...found].join(', ')} instead of ${[...expected].join(', ')}`;
  }

  private mayAppear(path: string, baseline: Leaves): boolean {
    if (this.leaves.some((each) => each.has(path))) return true;
    if (path.includes('[]') && this.varying.has(lengthOf(path))) return true;
    return [...baseline].some(
      ([other, values]) => values.has('null') && other !== '' && isAtOrBelow(path, other),
    );
  }

  private wasEverNull(path: string): boolean {
    return this.leaves.some((each) => each.get(path)?.has('null') ?? true);
  }

  private read(answer: KitAnswer): Leaves | undefined {
    return readJson(answer, this.ignored);
  }
}

/** The members of a JSON answer that are to be compared; undefined for any other answer. */
export function readJson(
  { body, contentType }: { body: Buffer; contentType: string | null },
  ignored: readonly string[],
): Leaves | undefined {
  if (!contentType?.includes('json')) return undefined;
  try {
    const leaves = leavesOf(JSON.parse(body.toString()));
    for (const path of leaves.keys()) {
      if (ignored.some((each) => isAtOrBelow(path, each))) leaves.delete(path);
    }
    return leaves;
  } catch {
    return undefined;
  }
}

function isOnlyNull(values: ReadonlySet<string>): boolean {
  return values.size === 1 && values.has('null');
}

/** The length of the outermost list that a path is part of. */
function lengthOf(path: string): string {
  const list = path.indexOf('[]');
  return list < 0 ? path : `${path.slice(0, list)}.length`;
}
