import { createHash, randomUUID } from 'node:crypto';
import { Attempt } from '../../keys/attempt.js';
import { OpenTransactions } from '../../phases/open-transactions.js';
import { PhaseJournal } from '../../phases/phase-journal.js';
import { requestContext, type RequestContext } from '../../phases/request-context.js';
import { PLAIN } from '../../encryption/plain-cipher.js';
import { UsageGuard } from '../../phases/usage-guard.js';
import { PhaseUsageError } from '../../policy/phase-errors.js';
import { resolvePolicy } from '../../policy/resolve-policy.js';
import { nameOf, type KeyName } from '../../schema/key-name.js';
import { Observation } from '../../telemetry/observation.js';
import type { FakeResumePoint } from './fake-resume.js';
import type { MemoryKey, MemoryStore } from './memory/memory-store.js';

const ROUTE = 'The code under test';

/** Of a request that a unit test makes up; those of HTTP have the policies of their routes. */
const POLICY = resolvePolicy('ietf', [{ onAbandoned: 'resume' }], 'FakeAtomicPhase');

/** How the next request begins. */
type Plan = { kind: 'retry' } | { kind: 'resume'; point: FakeResumePoint };

/**
 * The requests that direct calls stand for. Each call of a handler with
 * `@Idempotent()` is one; calls of a service are one until the test says otherwise.
 */
export class FakeRequests {
  /** By what surrounds the calling code. */
  private contexts = new WeakMap<object, RequestContext>();
  private readonly points = new WeakMap<PhaseJournal, FakeResumePoint>();
  private readonly own = new WeakSet<PhaseJournal>();
  private plan: Plan | undefined;
  private last: KeyName;
  private count = 0;

  constructor(
    private readonly store: MemoryStore,
    private readonly scope: string,
  ) {
    this.last = this.nameOf(1);
  }

  /**
   * What surrounds the running code: a request over HTTP, or one that is made up
   * for it. Undefined where phases are refused: in a message handler, and on a
   * route without `@Idempotent()`.
   */
  get context(): RequestContext | undefined {
    const { current, surroundings } = requestContext;
    if (current) {
      if (this.plan?.kind === 'resume' && !this.own.has(current.journal)) throw notOverHttp();
      return current;
    }
    if (surroundings && surroundings.withoutPhases?.kind !== 'call') return undefined;
    const caller = surroundings ?? this;
    const known = this.contexts.get(caller);
    if (known) return known;
    const context = this.begin();
    this.contexts.set(caller, context);
    return context;
  }

  /** The point that a request was told to resume at. */
  pointOf({ journal }: RequestContext): FakeResumePoint | undefined {
    return this.points.get(journal);
  }

  /** The key of the request that the running code is part of, or of the last one. */
  get name(): KeyName {
    return requestContext.current?.attempt ?? this.last;
  }

  /** The one that is to come, if the test has planned it. */
  get nextName(): KeyName {
    return this.nameOf(this.count + 1);
  }

  next(plan?: Plan): void {
    this.plan = plan;
    if (plan?.kind !== 'retry') this.last = this.nextName;
    this.contexts = new WeakMap();
  }

  /** Begins what was planned: a new request, a retry of the last one, or a resume. */
  begin(): RequestContext {
    const { plan } = this;
    this.plan = undefined;
    const row = plan?.kind === 'retry' ? this.store.find(this.last) : undefined;
    const attempt = row ? this.takeOver(row) : this.reserve(plan);
    const journal = new PhaseJournal(attempt);
    this.own.add(journal);
    if (plan?.kind === 'resume') this.points.set(journal, plan.point);
    return {
      attempt,
      journal,
      route: ROUTE,
      guard: new UsageGuard('ignore'),
      phased: false,
      transactions: new OpenTransactions(),
    };
  }

  private reserve(plan: Plan | undefined): Attempt {
    const name = (this.last = this.nameOf((this.count += 1)));
    const { lease, retention, onAbandoned, onExpired } = POLICY;
    const owner = randomUUID();
    const times = { lease, retention, onAbandoned, onExpired };
    const row = this.store.insert({
      ...name,
      ...times,
      owner,
      fingerprint: Buffer.alloc(32),
      cipher: PLAIN,
    });
    if (plan?.kind !== 'resume') return this.attempt(row);
    row.phases = plan.point.records;
    row.recoveryPoint = plan.point.recoveryPoint;
    return this.takeOver(row);
  }

  private takeOver(row: MemoryKey): Attempt {
    row.attempt += 1;
    row.owner = randomUUID();
    return this.attempt(row);
  }

  private attempt(row: MemoryKey): Attempt {
    const reservation = {
      ...row,
      lease: POLICY.lease,
      cipher: PLAIN,
      observed: new Observation(ROUTE),
    };
    const attempt = new Attempt(reservation, POLICY, {
      ...row,
      number: row.attempt,
      // Copies: what this attempt records is for the next one.
      recorded: row.phases.map((phase) => ({ ...phase })),
    });
    attempt.began = true;
    return attempt;
  }

  private nameOf(count: number): KeyName {
    return { scope: this.scope, endpoint: '', key: `unit-test-request-${count}` };
  }
}

function notOverHttp(): PhaseUsageError {
  return new PhaseUsageError(
    'resumeAt() is for direct calls, and a request over HTTP came next. There, let failAt() end the first request, and send it again under the same key.',
  );
}

/** A UUID, as real ones are, and the same in every run of a test. */
export function fakeEffectKey(name: KeyName, phase: string): string {
  const hex = createHash('sha256')
    .update(`${nameOf(name)}\0${phase}`)
    .digest('hex');
  const parts = [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`];
  return [...parts, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join('-');
}
