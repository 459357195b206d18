import type { EntityManager } from 'typeorm';
import { AtomicPhase, type CurrentAttempt } from '../../phases/atomic-phase.js';
import { endPhases } from '../../phases/close-phases.js';
import type { ForeignPhase } from '../../phases/foreign-phase.js';
import type { PhaseJournal } from '../../phases/phase-journal.js';
import { Reconcilers, type ReconcilerMethod } from '../../phases/reconciler.js';
import { requestContext, type RequestContext } from '../../phases/request-context.js';
import { PhaseUsageError } from '../../policy/phase-errors.js';
import type { Jsonified } from '../../schema/json.js';
import { FakeFailures, type FakeFailure } from './fake-failures.js';
import { fakeEffectKey, FakeRequests } from './fake-requests.js';
import { FakeResumePoint, type FakeResume } from './fake-resume.js';
import { hearPhase, type FakePhase } from './heard-phase.js';
import { MemoryPhases } from './memory/memory-phases.js';
import { MemoryStore } from './memory/memory-store.js';
import { MemoryTransactions } from './memory/memory-transactions.js';
import { missingTx } from './missing-tx.js';

export interface FakeAtomicPhaseOptions {
  /**
   * What phases get as `tx`: an object with what the code under test calls, such
   * as `{ save: async (entity, row) => ({ id: 1, ...row }) }`.
   * @default none, and a phase that uses it says so
   */
  tx?: object;
  /** The scope of the requests that direct calls stand for. @default 'unit-test' */
  scope?: string;
  /** Who is asked about a call in doubt, by the name of its phase. In a testing module, `@Reconciler()` methods are. */
  reconcilers?: Record<string, ReconcilerMethod>;
}

/** What fakes share that belong to one application. */
export interface FakeParts {
  store: MemoryStore;
  reconcilers: Pick<Reconcilers, 'ask'>;
}

/**
 * An `AtomicPhase` for unit tests. Phases run in memory, by the rules of the real
 * one, which it is apart from its storage: a name used twice, a phase inside
 * another, a result that is not JSON are the same errors. It records what ran,
 * and can be told to resume at a point or to fail.
 */
export class FakeAtomicPhase extends AtomicPhase {
  /** All phases that were begun, in order, over all requests and attempts. */
  readonly phases: FakePhase[] = [];

  private readonly requests: FakeRequests;
  private readonly failures = new FakeFailures();

  /** @param parts for `provideIdempotencyForTests()` */
  constructor(options: FakeAtomicPhaseOptions = {}, parts: Partial<FakeParts> = {}) {
    const { store = new MemoryStore(), reconcilers = reconcilersOf(options) } = parts;
    const batches = new MemoryPhases(store);
    const { tx } = options;
    const manager = (phase: string) => (tx ?? missingTx(phase)) as EntityManager;
    const transactions = new MemoryTransactions(batches, manager);
    super(
      {
        batches,
        transactions,
        reconcilers,
        newEffectKey: ({ attempt, name }) => fakeEffectKey(attempt ?? KEYLESS, name),
      },
      { isInside: false },
    );
    this.requests = new FakeRequests(store, options.scope ?? 'unit-test');
  }

  /** The names of the phases that did their work, in order: those that only returned what was on record are left out. */
  get ran(): string[] {
    return this.phases.filter(({ outcome }) => outcome !== 'recalled').map(({ name }) => name);
  }

  /** What the call of this phase gets as `effect.idempotencyKey`, in the request at hand or the last one. */
  effectKey(phase: string): string {
    return fakeEffectKey(this.requests.name, phase);
  }

  /**
   * The next call resumes there, as if an earlier attempt had died: the phases in
   * `results` return theirs without running, and this one is the first to run.
   */
  resumeAt(phase: string, resume: FakeResume = {}): this {
    const { nextName } = this.requests;
    const point = new FakeResumePoint(phase, resume, (name) => fakeEffectKey(nextName, name));
    this.next({ kind: 'resume', point });
    return this;
  }

  /** The phase of this name fails, once. */
  failAt(phase: string, failure: FakeFailure = {}): this {
    this.failures.add(phase, failure);
    return this;
  }

  /**
   * The next call is another attempt of the last request: phases that finished
   * return their results without running.
   */
  retry(): this {
    this.failures.assertReached(this.reached);
    this.next({ kind: 'retry' });
    return this;
  }

  /** The next call is a new request. What was recorded and planned is forgotten. */
  reset(): this {
    // No complaint about what still runs: a test that fails must not fail those after it.
    this.requests.next();
    this.failures.clear();
    this.phases.length = 0;
    return this;
  }

  /**
   * Runs `work` as one request, to its end: a phase that it did not await is an
   * error, and so is one that starts later.
   */
  async request<T>(work: () => T | Promise<T>): Promise<T> {
    const context = this.requests.begin();
    const end = async () => {
      const { running } = this;
      await endPhases(context);
      return running;
    };
    let result: T;
    try {
      result = await requestContext.run(context, work);
    } catch (error) {
      await end();
      throw error;
    }
    const running = await end();
    if (running) throw notAwaited(running.name);
    this.failures.assertReached(this.reached);
    return result;
  }

  override local<T>(
    recoveryPoint: string,
    work: (tx: EntityManager) => Promise<T>,
  ): Promise<Jsonified<T>> {
    const failing = async (tx: EntityManager) => {
      const result = await work(tx);
      this.failures.reach(recoveryPoint, 'local', 'in');
      return result;
    };
    const phase = { name: recoveryPoint, kind: 'local' } as const;
    return this.perform(phase, () => super.local(recoveryPoint, failing));
  }

  override foreign<R, T = R>(
    recoveryPoint: string,
    phase: ForeignPhase<R, T>,
  ): Promise<Jsonified<T>> {
    const failing = Object.create(phase, {
      call: {
        value: async (effect: Parameters<typeof phase.call>[0]) => {
          this.failures.reach(recoveryPoint, 'foreign', 'in');
          const result = await phase.call(effect);
          this.failures.reach(recoveryPoint, 'foreign', 'unknown');
          return result;
        },
      },
    }) as ForeignPhase<R, T>;
    const { request } = phase;
    return this.perform({ name: recoveryPoint, kind: 'foreign', request }, () =>
      super.foreign(recoveryPoint, failing),
    );
  }

  override unprotected<T>(work: () => T): T {
    return super.unprotected(work);
  }

  override get current(): CurrentAttempt | undefined {
    return this.within(this.requests.context, () => super.current);
  }

  private async perform<T>(
    phase: Pick<FakePhase, 'name' | 'kind' | 'request'>,
    run: () => Promise<T>,
  ): Promise<T> {
    const { name, kind } = phase;
    const { context } = this.requests;
    if (context && !context.journal.busy) {
      this.requests.pointOf(context)?.reach(phase, context.attempt!.recorded);
      this.failures.reach(name, kind, 'before');
    }
    const isForeign = kind === 'foreign';
    const effectKey = isForeign ? fakeEffectKey(context?.attempt ?? KEYLESS, name) : undefined;
    const heard = hearPhase({ ...phase, effectKey }, context?.attempt, this.phases);
    try {
      const result = await heard.during(() => this.within(context, run));
      if (context) this.endHere(name, kind, context.journal);
      return result;
    } catch (error) {
      throw heard.begun ? error : this.explained(error, name);
    }
  }

  /** In the request that is made up for a direct call; everything else has its own. */
  private within<T>(context: RequestContext | undefined, work: () => T): T {
    return context && !requestContext.current ? requestContext.run(context, work) : work();
  }

  /** `after`: the process is gone, so no further phase starts, whatever the handler catches. */
  private endHere(name: string, kind: FakePhase['kind'], journal: PhaseJournal): void {
    try {
      this.failures.reach(name, kind, 'after');
    } catch (error) {
      journal.stopAt(name, 'not_recorded');
      throw error;
    }
  }

  /** Two calls of a service look like one request, and only the test knows better. */
  private explained(error: unknown, name: string): unknown {
    const repeated = this.phases.some((phase) => phase.name === name);
    if (!(error instanceof PhaseUsageError) || !repeated || requestContext.current) return error;
    return new PhaseUsageError(
      `${error.message} If the test means a new request, call reset() of FakeAtomicPhase before it; if it means a retry, call retry().`,
      { cause: error },
    );
  }

  private next(plan: Parameters<FakeRequests['next']>[0]): void {
    const { running } = this;
    if (running) throw notAwaited(running.name);
    this.requests.next(plan);
  }

  private get running(): FakePhase | undefined {
    return this.phases.find(({ outcome }) => outcome === 'running');
  }

  private get reached(): string[] {
    return this.phases.map(({ name }) => name);
  }
}

/** A request without a key has a random effect key; the fake's is the same each time. */
const KEYLESS = { scope: '', endpoint: '', key: '' };

/**
 * Every public member of AtomicPhase has its override above. One that is new
 * there does not compile here until somebody has decided what the fake does.
 */
export const FAKED = {
  local: true,
  foreign: true,
  unprotected: true,
  current: true,
} satisfies Record<keyof AtomicPhase, true>;

function reconcilersOf({ reconcilers = {} }: FakeAtomicPhaseOptions): Reconcilers {
  // It looks for no decorators here, and so needs neither of its two services.
  const asked = new Reconcilers(undefined as never, undefined as never);
  for (const [phase, method] of Object.entries(reconcilers)) asked.add(phase, method);
  return asked;
}

function notAwaited(phase: string): PhaseUsageError {
  return new PhaseUsageError(
    `Phase "${phase}" is still running: the code under test did not await it. Await everything a handler starts; what nobody awaits is not part of the request.`,
  );
}
