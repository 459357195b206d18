import type { Change } from './changes.js';
import { sameLeaves } from './leaves.js';

/** How the changes of one run in one table differ from those of the undisturbed runs. */
export interface TableDifference {
  table: string;
  /** Changes that no undisturbed run made. */
  extra: Change[];
  /** Changes that an undisturbed run made, and this one did not. */
  missing: Change[];
}

/**
 * What undisturbed runs change in the tables. Two of them show which columns are
 * other ones each time (ids, keys, counters); these are set aside, and all others
 * have to be the same after a crash.
 */
export class TableBaseline {
  /** By table and column. */
  private readonly varying = new Set<string>();

  constructor(private readonly undisturbed: readonly (readonly Change[])[]) {
    for (const [index, run] of undisturbed.entries()) {
      for (const other of undisturbed.slice(index + 1)) this.learn(run, other);
    }
  }

  /** Nothing but what undisturbed runs do as well. */
  compare(changes: readonly Change[]): TableDifference[] {
    const tables = new Set([...this.undisturbed.flat(), ...changes].map(({ table }) => table));
    return [...tables].flatMap((table) => {
      const own = changes.filter((change) => change.table === table);
      const differences = this.undisturbed.map((run) =>
        this.differenceOf(
          table,
          own,
          run.filter((change) => change.table === table),
        ),
      );
      if (differences.some(({ extra, missing }) => extra.length + missing.length === 0)) return [];
      return differences.slice(-1);
    });
  }

  /** What is compared of a change, for messages: `status "paid"`. */
  describe({ table, op, leaves }: Change): string {
    const values = [...leaves]
      .filter(([path]) => !this.isVarying(table, op, path))
      .map(([path, texts]) => `${path} ${[...texts].join(' ')}`);
    return values.slice(0, 4).join(', ');
  }

  private differenceOf(
    table: string,
    own: readonly Change[],
    undisturbed: readonly Change[],
  ): TableDifference {
    const extra: Change[] = [];
    const missing = [...undisturbed];
    for (const change of own) {
      const signature = this.signatureOf(change);
      const index = missing.findIndex((each) => this.signatureOf(each) === signature);
      if (index < 0) extra.push(change);
      else missing.splice(index, 1);
    }
    return { table, extra, missing };
  }

  private learn(first: readonly Change[], other: readonly Change[]): void {
    for (const [group, changes] of groups(first)) {
      const others = groups(other).get(group) ?? [];
      // Of as many rows each time, the first one is taken for the first one.
      const pairs = changes.length === others.length ? changes.map((_, i) => i) : [];
      for (const i of pairs) this.learnPair(group, changes[i]!, others[i]!);
      if (pairs.length === 0 && others.length > 0) this.learnPair(group, changes[0]!, others[0]!);
    }
  }

  private learnPair(group: string, one: Change, other: Change): void {
    for (const path of new Set([...one.leaves.keys(), ...other.leaves.keys()])) {
      if (!sameLeaves(one.leaves.get(path), other.leaves.get(path))) {
        this.varying.add(`${group} ${path}`);
      }
    }
  }

  private isVarying(table: string, op: string, path: string): boolean {
    return this.varying.has(`${table} ${op} ${path}`);
  }

  private signatureOf({ table, op, leaves }: Change): string {
    const compared = [...leaves]
      .filter(([path]) => !this.isVarying(table, op, path))
      .map(([path, values]) => `${path}=${[...values].toSorted().join()}`);
    return `${op} ${compared.toSorted().join(';')}`;
  }
}

function groups(changes: readonly Change[]): Map<string, Change[]> {
  const found = new Map<string, Change[]>();
  for (const change of changes) {
    const group = `${change.table} ${change.op}`;
    found.set(group, [...(found.get(group) ?? []), change]);
  }
  return found;
}
