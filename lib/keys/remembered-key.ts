import type { ResolvedPolicy } from '../policy/resolve-policy.js';
import { fingerprint as compute, type FingerprintInput } from '../request/fingerprint.js';
import { decide, isDecision, type Decision } from './decision.js';
import type { FoundKey } from './key-store.js';

/** A finished key belongs to no attempt. */
const NOBODY = '';

/** Bodies up to this size are kept to be recognised, in characters of JSON. */
const LONGEST_BODY = 1_000;

/** A finished key as it was read, and the request that was last compared with it. */
export class RememberedKey {
  private request: FingerprintInput | undefined;
  private body: string | undefined;
  private fingerprint: Buffer | undefined;
  private recognises = true;
  private last: { fingerprint: Buffer; policy: object; decision: Decision } | undefined;

  constructor(
    readonly key: FoundKey,
    readonly until: number,
    readonly bytes: number,
  ) {}

  /** What a request gets without asking the database. Undefined: it has to. */
  decide(
    fingerprint: Buffer,
    policy: Pick<ResolvedPolicy, 'onExpired' | 'onMismatch' | 'run'>,
  ): Decision | undefined {
    // A finished key stays as it is, so the same question has the same answer.
    if (this.last?.fingerprint === fingerprint && this.last.policy === policy) {
      return this.last.decision;
    }
    const step = decide(this.key, { fingerprint, owner: NOBODY }, policy);
    if (!isDecision(step)) return undefined;
    this.last = { fingerprint, policy, decision: step };
    return step;
  }

  /** A client repeats a request letter for letter, and then there is nothing to compute. */
  fingerprintOf(request: FingerprintInput): Buffer {
    const body = this.recognises ? plainJson(request.body) : undefined;
    if (this.fingerprint && body !== undefined && body === this.body && this.isLike(request)) {
      return this.fingerprint;
    }
    const computed = compute(request);
    // The retries of a large body are large as well: they are not worth a second look.
    this.recognises = body !== undefined && body.length <= LONGEST_BODY;
    if (this.recognises) {
      this.request = { ...request, body: undefined };
      this.body = body;
      this.fingerprint = computed;
    }
    return computed;
  }

  /** The params follow from the route and the target. */
  private isLike({ method, route, url, contentType }: FingerprintInput): boolean {
    const { request } = this;
    return (
      request?.url === url &&
      request.contentType === contentType &&
      request.route === route &&
      request.method === method
    );
  }
}

/** Undefined for what a parser did not make of JSON. */
function plainJson(body: unknown): string | undefined {
  const prototype: unknown =
    typeof body === 'object' && body !== null ? Object.getPrototypeOf(body) : undefined;
  if (prototype !== Object.prototype) return undefined;
  try {
    return JSON.stringify(body);
  } catch {
    return undefined; // nested too deeply, for example: its fingerprint says what is wrong with it
  }
}
