import type { IdempotencyPolicy } from '../policy/policy.js';
import type { ResolvedPolicy } from '../policy/resolve-policy.js';
import type { Jsonified } from '../schema/json.js';
import { CallRunner } from './call-runner.js';
import { keyedCall } from './keyed-call.js';

/** What a policy says that makes sense without a request. */
export type CallPolicy = Pick<
  IdempotencyPolicy,
  | 'phased'
  | 'retention'
  | 'lease'
  | 'maxRunTime'
  | 'waitFor'
  | 'onMismatch'
  | 'onAbandoned'
  | 'onServerError'
  | 'onExpired'
  | 'staleKeys'
  | 'isFinal'
  | 'maxResponseBytes'
> & {
  /** What a second call gets while the first one runs: an error, or its result. @default 'reject' */
  onInProgress?: 'reject' | 'wait';
};

/** A piece of work that is to take effect once. */
export interface IdempotentCall extends CallPolicy {
  /**
   * The kind of work, such as `invoices.send`. Keys of one kind do not meet those of
   * another, nor those of HTTP requests.
   * @default 'run'
   */
  name?: string;
  /** Whose work it is: an account, a tenant, or one word for all of it. */
  scope: string | number | bigint;
  /** What names this piece of work: the date of a cron job, the id of a queue's job. At most 255 characters. */
  key: string;
  /** What another call with the same key has to repeat: any JSON value, a string or a Buffer. */
  fingerprint?: unknown;
}

/** Resolves a call's own policy against the module's. @param where for errors */
export type ResolveCallPolicy = (own: CallPolicy, where: string) => ResolvedPolicy;

/**
 * Idempotency for what is no HTTP request: a cron job keyed by its date, a processor
 * of a queue, a command of an operator. Inside `work`, AtomicPhase works as it does
 * in a handler.
 */
export class Idempotency {
  constructor(
    private readonly runner: CallRunner,
    private readonly resolve: ResolveCallPolicy,
  ) {}

  /**
   * Runs `work` once for its key. Another call with the same key gets the result of
   * the first: the value as JSON has it, or the HttpException that was final. After
   * a crash, the next call goes on at the last recovery point.
   *
   * Throws IdempotencyRefusedError where the work is not run: it is in progress, its
   * outcome is unknown, or the key was used for something else.
   */
  async run<T>(call: IdempotentCall, work: () => Promise<T> | T): Promise<Jsonified<T>> {
    const { name = 'run', scope, key, fingerprint, ...policy } = call;
    const resolved = this.resolve(policy, `Idempotency.run() of ${name}`);
    const request = keyedCall({ name, scope, key, fingerprint });
    return (await this.runner.run(request, resolved, work)) as Jsonified<T>;
  }
}
