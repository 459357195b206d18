import { Model } from '../../protocol/model.js';
import { BEHAVIOURS } from '../../protocol/provider.js';
import type { Circumstances, NamedKey, Policy, Told } from '../../protocol/vocabulary.js';

/** One key in the model. Equal states have equal ids. */
export interface State {
  id: string;
  model: Model;
}

/** How an attempt can end that nobody disturbs. */
export interface End {
  told: Told;
  state: State;
}

/** Whatever surrounds an attempt: clients do not see it. */
const CIRCUMSTANCES: readonly Circumstances[] = BEHAVIOURS.flatMap((behaviour) =>
  (['answers', 'is_careful', 'is_silent'] as const).map((reconciler) => ({
    behaviour,
    reconciler,
  })),
);

const NAME = 'key';

/**
 * What the model of test/protocol allows for one key, as moves from state to state.
 * What a move depends on and no client sees (the provider, where a process dies) is
 * open: each possibility is one of the results.
 */
export class Specification {
  readonly initial: State;
  /** What an attempt may tell its client when it has lost its lease. */
  readonly afterLosing: ReadonlySet<string>;
  private readonly key: NamedKey;
  private readonly known = new Map<string, unknown>();

  constructor(policy: Policy) {
    this.key = { name: NAME, policy };
    this.initial = this.state(new Model());
    this.afterLosing = new Set(
      policy.inDoubt === 'repeat' ? ['lease_lost', 'failed'] : ['lease_lost', 'failed', 'unknown'],
    );
  }

  isOver({ model }: State): boolean {
    return model.keys.get(NAME)?.status === 'completed';
  }

  /** What a request is told at once, or `runs`: it begins an attempt. */
  decide(state: State): End | 'runs' {
    return this.once('decide', state, () => {
      const model = state.model.copy();
      const begun = model.request(this.key, CIRCUMSTANCES[0]!);
      return 'next' in begun ? ('runs' as const) : { told: begun, state: this.state(model) };
    });
  }

  /** Attempts that begin in this state and come to their end. */
  ends(state: State): readonly End[] {
    return this.once('ends', state, () =>
      distinct(
        CIRCUMSTANCES.map((circumstances) => {
          const { model, attempt } = this.begin(state, circumstances);
          let step = attempt.next();
          while (!step.done) step = attempt.next();
          return { told: step.value, state: this.state(model) };
        }),
      ),
    );
  }

  /** What an attempt can leave that begins in this state and dies, or loses its lease. */
  deaths(state: State): readonly State[] {
    return this.once('deaths', state, () =>
      distinct(
        CIRCUMSTANCES.flatMap((circumstances) => {
          const left: { state: State }[] = [];
          const { model, attempt } = this.begin(state, circumstances);
          while (!attempt.next().done) {
            const abandoned = model.copy();
            abandoned.lapse(NAME);
            left.push({ state: this.state(abandoned) });
          }
          return left;
        }),
      ).map((each) => each.state),
    );
  }

  /** What happens to a key that nobody runs without any client: jobs, people, late requests. */
  moves(state: State): readonly State[] {
    return this.once('moves', state, () => {
      const key = state.model.keys.get(NAME);
      if (!key) return [];
      const found: { state: State }[] = [];
      const arrived = state.model.copy();
      arrived.provider.deliver();
      found.push({ state: this.state(arrived) });
      for (const from of [state.model, arrived]) {
        const model = from.copy();
        if (key.status === 'unknown' && model.resolve(NAME))
          found.push({ state: this.state(model) });
      }
      const decision = this.decide(state);
      if (key.status !== 'unknown' && decision !== 'runs') found.push(decision);
      return distinct(found)
        .map((each) => each.state)
        .filter(({ id }) => id !== state.id);
    });
  }

  private begin(state: State, circumstances: Circumstances) {
    const model = state.model.copy();
    const attempt = model.request(this.key, circumstances);
    if (!('next' in attempt)) throw new Error(`No attempt begins in ${state.id}.`);
    return { model, attempt };
  }

  /** Attempts are not counted: nobody who waits long enough can tell the third from the second. */
  private state(model: Model): State {
    const key = model.keys.get(NAME);
    if (key) key.attempt = 1;
    return { id: `${JSON.stringify(key)} ${String(model.provider)}`, model };
  }

  private once<T>(question: string, { id }: State, answer: () => T): T {
    const name = `${question} ${id}`;
    if (!this.known.has(name)) this.known.set(name, answer());
    return this.known.get(name) as T;
  }
}

function distinct<T extends { told?: Told; state: State }>(ends: readonly T[]): T[] {
  return [...new Map(ends.map((end) => [JSON.stringify([end.told, end.state.id]), end])).values()];
}
