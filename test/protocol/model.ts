import { Provider, type Reply } from './provider.js';
import {
  RECOVERY_POINTS,
  type Circumstances,
  type KeyState,
  type NamedKey,
  type Policy,
  type RecoveryPoint,
  type Told,
  WELL,
} from './vocabulary.js';

interface Key extends KeyState, Policy {
  name: string;
  lapsed: boolean;
  /** The provider does not know the effect key any more. */
  forgotten: boolean;
  finalStatus?: 201 | 402;
}

/** One attempt, which stops at each fault point and may be left there for good. */
export type ModelAttempt = Generator<string, Told, void>;

/**
 * The protocol as it is meant, without a database, a network or time: an attempt
 * is a coroutine, and a crash is one that is not continued.
 */
export class Model {
  readonly keys = new Map<string, Key>();

  constructor(readonly provider = new Provider()) {}

  /** The same state, to try something else with. Attempts that are under way stay behind. */
  copy(): Model {
    const copy = new Model(this.provider.copy());
    for (const [name, key] of this.keys) copy.keys.set(name, { ...key });
    return copy;
  }

  /** What a request is told at once, or the attempt that it begins. */
  request({ name, policy }: NamedKey, circumstances: Circumstances): Told | ModelAttempt {
    const key = this.keys.get(name);
    if (!key) {
      const made: Key = {
        name,
        ...policy,
        status: 'in_progress',
        recoveryPoint: 'started',
        attempt: 1,
        charge: 'none',
        lapsed: false,
        forgotten: false,
      };
      this.keys.set(name, made);
      return this.attempt(made, circumstances);
    }
    if (key.status === 'completed') return { kind: 'final', status: key.finalStatus! };
    if (key.status === 'unknown') return { kind: 'unknown' };
    if (key.status === 'in_progress' && !key.lapsed) return { kind: 'in_progress' };
    if (!isResumable(key)) {
      key.status = 'unknown';
      return { kind: 'unknown' };
    }
    key.status = 'in_progress';
    key.attempt += 1;
    key.lapsed = false;
    return this.attempt(key, circumstances);
  }

  lapse(name: string): void {
    this.keys.get(name)!.lapsed = true;
  }

  forget(name: string): void {
    const key = this.keys.get(name)!;
    if (key.charge !== 'none') key.forgotten = true;
    this.provider.forget(name);
  }

  /** Somebody has found out what became of an unknown key. False: it cannot be known yet. */
  resolve(name: string): boolean {
    const key = this.keys.get(name)!;
    if (key.charge === 'intended') {
      const outcome = this.lookUp(key, WELL);
      if (outcome === 'unknown') return false;
      key.charge = SETTLED[outcome];
    }
    key.status = 'failed_retryable';
    return true;
  }

  private *attempt(key: Key, circumstances: Circumstances): ModelAttempt {
    const { attempt, charge } = key;
    const owns = () => key.attempt === attempt && key.status === 'in_progress';
    const done = RECOVERY_POINTS.indexOf(key.recoveryPoint);

    /** Everything that an attempt writes is fenced, and a sign of life. */
    function write(change: Partial<Key>): void {
      if (!owns()) throw new LeaseLost();
      Object.assign(key, change, { lapsed: false });
    }
    function* commit(phase: RecoveryPoint, change: Partial<Key> = {}) {
      if (!owns()) throw new LeaseLost(phase === 'charge_created' && charge !== 'reconciled');
      yield `${phase}:before_commit`;
      write({ recoveryPoint: phase, ...change });
      yield `${phase}:after_commit`;
    }
    function* finish(change: Partial<Key>, told: Told) {
      yield 'recording:before';
      // Somebody may have said of this attempt what it was about to say itself.
      const said = key.attempt === attempt && key.status === change.status;
      const lost = !owns() && !said;
      if (owns()) write(change);
      yield 'recording:after';
      return lost ? ({ kind: 'lease_lost' } as const) : told;
    }
    const declined = () =>
      finish(
        { status: 'completed', recoveryPoint: 'finished', finalStatus: 402 },
        { kind: 'final', status: 402 },
      );
    const retryable = () => finish({ status: 'failed_retryable' }, { kind: 'failed' });
    const unknown = () => finish({ status: 'unknown' }, { kind: 'unknown' });

    yield 'reserved';
    try {
      if (done < 1) yield* commit('order_created');

      if (charge === 'rejected') return yield* declined();
      if (done < 2) {
        let outcome: Outcome | undefined;
        if (charge === 'reconciled') outcome = 'executed';
        if (charge === 'intended' && key.inDoubt === 'reconcile') {
          outcome = this.lookUp(key, circumstances);
        }
        if (outcome === undefined || outcome === 'not_executed') {
          yield 'charge_created:before_intent';
          write({ charge: 'intended', ...(charge !== 'intended' && { forgotten: false }) });
          yield 'charge_created:after_intent';
          const reply = this.provider.charge(key.name, circumstances.behaviour);
          yield 'charge_created:after_call';
          outcome = this.assess(key, circumstances, reply, charge !== 'intended');
        }
        switch (outcome) {
          case 'rejected':
            write({ charge: 'rejected' });
            return yield* declined();
          case 'not_executed':
            write({ charge: 'withdrawn' });
            return yield* retryable();
          case 'unknown':
            return key.inDoubt === 'repeat' ? yield* retryable() : yield* unknown();
          case 'executed':
            yield* commit('charge_created', { charge: 'finished' });
        }
      }

      if (done < 3) yield* commit('receipt_staged');
      return yield* finish(
        { status: 'completed', recoveryPoint: 'finished', finalStatus: 201 },
        { kind: 'final', status: 201 },
      );
    } catch (error) {
      if (!(error instanceof LeaseLost)) throw error;
      // A charge that cannot be recorded is in doubt, whoever owns the key.
      return error.inDoubt && key.inDoubt !== 'repeat' ? yield* unknown() : yield* retryable();
    }
  }

  /** What is known after the call. */
  private assess(key: Key, circumstances: Circumstances, reply: Reply, first: boolean): Outcome {
    if (typeof reply === 'object') return reply.declined ? 'rejected' : 'executed';
    // A call that did not arrive says nothing about one of an earlier attempt.
    if (reply === 'not_reached' && first) return 'not_executed';
    return key.inDoubt === 'reconcile' ? this.lookUp(key, circumstances) : 'unknown';
  }

  private lookUp(key: Key, { reconciler }: Circumstances): Outcome {
    if (reconciler === 'is_silent') return 'unknown';
    const found = this.provider.lookUp(key.name);
    if (found === undefined) return reconciler === 'is_careful' ? 'unknown' : 'not_executed';
    if (found === 'pending') return 'unknown';
    return found.declined ? 'rejected' : 'executed';
  }
}

type Outcome = 'executed' | 'rejected' | 'not_executed' | 'unknown';

/** What a resolved call is on record as. */
const SETTLED = {
  executed: 'reconciled',
  rejected: 'rejected',
  not_executed: 'withdrawn',
} as const;

class LeaseLost extends Error {
  constructor(readonly inDoubt = false) {
    super('The lease is lost.');
  }
}

/** Whether a key that nobody runs may run again. */
function isResumable(key: Key): boolean {
  if (key.charge === 'intended') {
    return key.inDoubt === 'reconcile' || (key.inDoubt === 'repeat' && !key.forgotten);
  }
  const begun = key.recoveryPoint !== 'started';
  return begun || key.status === 'failed_retryable' || key.onAbandoned === 'resume';
}
