import type { ResolvedPolicy } from '../idempotency.policy.js';
import { fingerprint as compute, type FingerprintInput } from '../request/fingerprint.js';
import { decide, isDecision, type Decision } from './decision.js';
import type { FoundKey, KeyName } from './key-store.js';

/** A finished key belongs to no attempt. */
const NOBODY = '';

/** Bodies up to this size are kept to be recognised, in characters of JSON. */
const LONGEST_BODY = 1_000;

/** A finished key as it was read, and the request that was last compared with it. */
export class RememberedKey {
  private request: FingerprintInput | undefined;
  private body: string | undefined;
  private fingerprint: Buffer | undefined;

  constructor(
    readonly key: FoundKey,
    readonly until: number,
    readonly bytes: number,
  ) {}

  /** What a request gets without asking the database. Undefined: it has to. */
  decide(
    fingerprint: Buffer,
    policy: Pick<ResolvedPolicy, 'onExpired' | 'onMismatch'>,
  ): Decision | undefined {
    const step = decide(this.key, { fingerprint, owner: NOBODY }, policy);
    return isDecision(step) ? step : undefined;
  }

  /** A client repeats a request letter for letter, and then there is nothing to compute. */
  fingerprintOf(request: FingerprintInput): Buffer {
    const body = plainJson(request.body);
    if (this.fingerprint && body !== undefined && body === this.body && this.isLike(request)) {
      return this.fingerprint;
    }
    const computed = compute(request);
    if (body !== undefined && body.length <= LONGEST_BODY) {
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
  return prototype === Object.prototype ? JSON.stringify(body) : undefined;
}

/** About what a key takes in memory besides its answer's body, with a request to recognise. */
const OVERHEAD = 2_000;

/** The largest share of the memory that one answer may take. */
const LARGEST_SHARE = 1 / 16;

/**
 * Finished keys that were just read, so that a burst of retries reads them once.
 * A finished key changes by its age, which is known, or by an operator's hand:
 * one in this process clears this memory, one in another process is heard of
 * when `memory` is over.
 */
export class FinishedKeys {
  /** In the order in which they were read, which is also the order in which they lapse. */
  private readonly kept = new Map<string, RememberedKey>();
  private bytes = 0;
  private clearedAt = -Infinity;

  /**
   * @param memory how long a key is believed to be as it was read, in milliseconds
   * @param maxBytes what all of them may take
   */
  constructor(
    private readonly memory: number,
    private readonly maxBytes: number,
  ) {}

  get size(): number {
    return this.kept.size;
  }

  find(name: KeyName): RememberedKey | undefined {
    if (this.kept.size === 0) return undefined;
    const kept = this.kept.get(nameOf(name));
    return kept && performance.now() < kept.until ? kept : undefined;
  }

  /** @param asOf when the statement was sent that read it, by performance.now() */
  keep(name: KeyName, key: FoundKey, asOf: number): void {
    const until = asOf + Math.min(this.memory, key.expiresIn ?? Infinity);
    const bytes = OVERHEAD + (key.answer?.body.length ?? 0);
    const tooOld = until <= performance.now() || asOf <= this.clearedAt;
    if (tooOld || bytes > this.maxBytes * LARGEST_SHARE) return;
    const id = nameOf(name);
    this.drop(id);
    this.kept.set(id, new RememberedKey(key, until, bytes));
    this.bytes += bytes;
    this.makeRoom();
  }

  clear(): void {
    this.clearedAt = performance.now();
    this.kept.clear();
    this.bytes = 0;
  }

  private makeRoom(): void {
    const now = performance.now();
    for (const [id, { until }] of this.kept) {
      if (until > now && this.bytes <= this.maxBytes) break;
      this.drop(id);
    }
  }

  private drop(id: string): void {
    const kept = this.kept.get(id);
    if (!kept) return;
    this.kept.delete(id);
    this.bytes -= kept.bytes;
  }
}

/** None of the three can contain a NUL. */
function nameOf({ scope, endpoint, key }: KeyName): string {
  return `${scope}\0${endpoint}\0${key}`;
}
