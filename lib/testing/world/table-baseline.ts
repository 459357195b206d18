import { sameLeaves } from './leaves.js';

/** A change of a row, or a request to another system. */
export interface Comparable {
  /** Where: a table, a destination. */
  table: string;
  op: string;
  leaves: Map<string, Set<string>>;
}

/** How the changes of one run in one table differ from those of the undisturbed runs. */
export interface TableDifference<C extends Comparable> {
  table: string;
  /** Changes that no undisturbed run made. */
  extra: C[];
  /** Changes that an undisturbed run made, and this one did not. */
  missing: C[];
}

/**
 * What undisturbed runs change in the tables, or ask of other systems. Two of them show which columns are
 * other ones each time (ids, keys, counters); these are set aside, and all others
 * have to be the same after a crash.
 */
export class TableBaseline<C extends Comparable> {
  /** By table and column. */
  private readonly varying = new Set<string>();

  constructor(private readonly undisturbed: readonly (readonly C[])[]) {
    for (const [index, run] of undisturbed.entries()) {
      for (const other of undisturbed.slice(index + 1)) this.learn(run, other);
    }
  }

  /** Nothing but what undisturbed runs do as well. */
  compare(changes: readonly C[]): TableDifference<C>[] {
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
  describe({ table, op, leaves }: C): string {
    const values = [...leaves]
      .filter(([path]) => !this.isVarying(table, op, path))
      .map(([path, texts]) => `${path} ${[...texts].join(' ')}`);
    return values.slice(0, 4).join(', ');
  }

  private differenceOf(
    table: string,
    own: readonly C[],
    undisturbed: readonly C[],
  ): TableDifference<C> {
    const extra: C[] = [];
    const missing = [...undisturbed];
    for (const change of own) {
      const signature = this.signatureOf(change);
      const index = missing.findIndex((each) => this.signatureOf(each) === signature);
      if (index < 0) extra.push(change);
      else missing.splice(index, 1);
    }
    return { table, extra, missing };
  }

  private learn(first: readonly C[], other: readonly C[]): void {
    for (const [group, changes] of groups(first)) {
      const others = groups(other).get(group) ?? [];
      // Of as many rows each time, the first one is taken for the first one.
      const pairs = changes.length === others.length ? changes.map((_, i) => i) : [];
      for (const i of pairs) this.learnPair(group, changes[i]!, others[i]!);
      if (pairs.length === 0 && others.length > 0) this.learnPair(group, changes[0]!, others[0]!);
    }
  }

  private learnPair(group: string, one: C, other: C): void {
    for (const path of new Set([...one.leaves.keys(), ...other.leaves.keys()])) {
      if (!sameLeaves(one.leaves.get(path), other.leaves.get(path))) {
        this.varying.add(`${group} ${path}`);
      }
    }
  }

  private isVarying(table: string, op: string, path: string): boolean {
    return this.varying.has(`${table} ${op} ${path}`);
  }

  private signatureOf({ table, op, leaves }: C): string {
    const compared = [...leaves]
      .filter(([path]) => !this.isVarying(table, op, path))
      .map(([path, values]) => `${path}=${[...values].toSorted().join()}`);
    return `${op} ${compared.toSorted().join(';')}`;
  }
}

function groups<C extends Comparable>(changes: readonly C[]): Map<string, C[]> {
  const found = new Map<string, C[]>();
  for (const change of changes) {
    const group = `${change.table} ${change.op}`;
    found.set(group, [...(found.get(group) ?? []), change]);
  }
  return found;
}
