import { NEVER, type Operation, type Told } from './history.js';
import type { Specification, State } from './specification.js';

/** Whether there is an order of what happened that explains what all clients were told. */
export type Verdict =
  | { kind: 'linearizable' }
  /** `explained`: the most operations that one order could explain, in that order. */
  | { kind: 'refused'; explained: Operation[] }
  /** There are too many orders to try them all. */
  | { kind: 'undecided' };

/** Far more than the history of a key needs; a longer search says nothing, and not "yes". */
const MOST_NODES = 200_000;

/** The attempt of a process that is gone. Its lease may still hold, or have lapsed. */
const NOBODY = -1;

/** A point of the search. Operations are numbered as in the history. */
interface Node {
  state: State;
  /** Whose attempt runs. The state is then the one in which it began. */
  running: number | typeof NOBODY | undefined;
  /** The final answer, once a client has seen it. */
  bytes: string | undefined;
  /** Operations that have been told what they were told. */
  finished: ReadonlySet<number>;
  /** Operations that lost their lease and have not been told anything yet. */
  lost: ReadonlySet<number>;
  /** Operations without an answer that have had their effect. */
  spent: ReadonlySet<number>;
  path: readonly Operation[];
}

/**
 * Looks for a linearization as Wing and Gong do: an operation may come next if it was
 * invoked before any operation returned that is still to come. An attempt is no atomic
 * operation, because others see that it runs, so it has two points: it begins, and it ends,
 * dies, or loses its lease. Nodes that were tried are remembered.
 */
export function check(specification: Specification, history: readonly Operation[]): Verdict {
  const tried = new Set<string>();
  let best: readonly Operation[] = [];
  const open: Node[] = [
    {
      state: specification.initial,
      running: undefined,
      bytes: undefined,
      finished: new Set(),
      lost: new Set(),
      spent: new Set(),
      path: [],
    },
  ];
  for (let node = open.pop(); node; node = open.pop()) {
    if (tried.size > MOST_NODES) return { kind: 'undecided' };
    const name = nameOf(node);
    if (tried.has(name)) continue;
    tried.add(name);
    if (node.path.length > best.length) best = node.path;
    if (isExplained(node, history)) return { kind: 'linearizable' };
    // The last one is tried first: what explains an answer rather than what only might happen.
    open.push(...successors(specification, history, node).toReversed());
  }
  return { kind: 'refused', explained: [...best] };
}

function isExplained({ finished }: Node, history: readonly Operation[]): boolean {
  return history.every(({ returned }, index) => returned === NEVER || finished.has(index));
}

function successors(
  specification: Specification,
  history: readonly Operation[],
  node: Node,
): Node[] {
  const { state, running, bytes } = node;
  const next: Node[] = [];
  const finish = (index: number, change: Partial<Node> = {}) =>
    next.push({
      ...node,
      ...change,
      finished: new Set(node.finished).add(index),
      lost: without(node.lost, index),
      path: [...node.path, history[index]!],
    });

  for (const index of node.lost) {
    if (specification.afterLosing.has(history[index]!.told.kind)) finish(index);
  }

  for (const index of eligible(history, node)) {
    const { told } = history[index]!;
    if (running !== undefined && told.kind === 'in_progress') finish(index);
    // Whoever runs the key may be dead already: only then is it taken over.
    if (running !== undefined && running !== NOBODY) continue;
    const decision = specification.decide(state);
    if (decision === 'runs') {
      if (couldRun(told)) next.push({ ...node, ...spend(node, index, told), running: index });
    } else if (told.kind === decision.told.kind) {
      if (told.kind !== 'final') finish(index, { state: decision.state, running: undefined });
      else if (told.replayed && fits(told, decision.told, bytes))
        finish(index, { bytes: told.bytes });
    }
  }

  if (running !== undefined && running !== NOBODY) {
    const { told } = history[running]!;
    for (const end of specification.ends(state)) {
      const ended = { state: end.state, running: undefined };
      if (told.kind === 'nothing') next.push({ ...node, ...ended });
      else if (told.kind === 'final') {
        if (!told.replayed && fits(told, end.told, bytes))
          finish(running, { ...ended, bytes: told.bytes });
      } else if (told.kind === end.told.kind) finish(running, ended);
    }
    if (told.kind !== 'final') {
      for (const left of specification.deaths(state)) {
        const died = { state: left, running: NOBODY };
        if (told.kind === 'nothing') next.push({ ...node, ...died });
        // Whoever recorded the end of the key knows it.
        else if (specification.isOver(left)) continue;
        else if (told.kind === 'failed') finish(running, died);
        else next.push({ ...node, ...died, lost: new Set(node.lost).add(running) });
      }
    }
  } else {
    for (const moved of specification.moves(state)) {
      next.push({ ...node, state: moved, running: undefined });
    }
  }
  return next;
}

/** Operations that may come next. Of those that nobody answered, one is as good as the other. */
function eligible(history: readonly Operation[], node: Node): number[] {
  const isPending = (index: number) => !node.finished.has(index) && !node.spent.has(index);
  const earliest = Math.min(
    ...history.map(({ returned }, index) => (node.finished.has(index) ? NEVER : returned)),
  );
  const found: number[] = [];
  let silent = false;
  for (const [index, { invoked, told }] of history.entries()) {
    const waits = isPending(index) && index !== node.running && !node.lost.has(index);
    if (!waits || invoked > earliest) continue;
    if (told.kind === 'nothing' && silent) continue;
    silent ||= told.kind === 'nothing';
    found.push(index);
  }
  return found;
}

function spend(node: Node, index: number, told: Told): Partial<Node> {
  return told.kind === 'nothing' ? { spent: new Set(node.spent).add(index) } : {};
}

function couldRun(told: Told): boolean {
  return told.kind === 'final' ? !told.replayed : told.kind !== 'in_progress';
}

function fits(
  told: Told & { kind: 'final' },
  expected: { kind: string; status?: number },
  bytes: string | undefined,
): boolean {
  return (
    expected.kind === 'final' &&
    told.status === expected.status &&
    (bytes === undefined || bytes === told.bytes)
  );
}

function without(set: ReadonlySet<number>, index: number): ReadonlySet<number> {
  if (!set.has(index)) return set;
  return new Set([...set].filter((each) => each !== index));
}

function nameOf({ state, running, bytes, finished, lost, spent }: Node): string {
  const sets = [finished, lost, spent].map((set) => [...set].toSorted((a, b) => a - b).join());
  return [state.id, running, bytes, ...sets].join('|');
}
