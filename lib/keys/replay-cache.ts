import type { ColumnCipher } from '../encryption/column-cipher.js';
import type { ResolvedPolicy } from '../policy/resolve-policy.js';
import type { KeyedRequest } from '../request/request-reader.js';
import { nameOf, type KeyName } from '../schema/key-name.js';
import { decide, isDecision, type Decision } from './decision.js';
import type { FoundKey } from './found-key.js';

/** Answers a burst of retries of a finished key without reading the key each time. */
export abstract class ReplayCache {
  /** Undefined: the key has to be read. */
  abstract decide(
    request: KeyedRequest,
    policy: ResolvedPolicy,
    cipher: ColumnCipher,
  ): Decision | undefined;

  /** @param asOf when the statement was sent that read the key, by performance.now() */
  abstract keep(name: KeyName, key: FoundKey, asOf: number): void;

  abstract clear(): void;

  /** For shutdown: later retries are for another process. */
  abstract close(): void;
}

/** The plain implementation: each retry reads its key. */
export class NoReplayCache extends ReplayCache {
  override decide(): undefined {}
  override keep(): void {}
  override clear(): void {}
  override close(): void {}
}

/** About what a key takes in memory besides its answer's body, with the text of a retry. */
const OVERHEAD = 2_000;

/** The largest share of the memory that one answer may take. */
const LARGEST_SHARE = 1 / 16;

/** A finished key belongs to no attempt. */
const NOBODY = '';

/** A finished key, and the last retry of it that was compared. */
class CachedKey {
  private text: string | undefined;
  private fingerprint: Buffer | undefined;

  constructor(
    readonly key: FoundKey,
    readonly until: number,
    readonly bytes: number,
  ) {}

  /** Retries nearly always repeat the request to the letter. */
  fingerprintOf(request: KeyedRequest): Buffer {
    const { text } = request;
    if (this.fingerprint && text !== undefined && text === this.text) return this.fingerprint;
    // First: a request that has none is refused, and must not leave its text beside another one's.
    this.fingerprint = request.fingerprint;
    this.text = text;
    return this.fingerprint;
  }
}

/**
 * Keeps finished keys in memory. A finished key changes by expiry, which is
 * known, or by an operator's decision: one in this process clears the cache, one
 * in another process takes effect here after `ttl`.
 */
export class MemoryReplayCache extends ReplayCache {
  /** In the order in which they were read, which is also the order in which they lapse. */
  private readonly kept = new Map<string, CachedKey>();
  private bytes = 0;
  private clearedAt = -Infinity;
  private closed = false;

  /**
   * @param ttl how long a key is used without being read again, in milliseconds
   * @param maxBytes the memory that all of them may use
   */
  constructor(
    private readonly ttl: number,
    private readonly maxBytes: number,
  ) {
    super();
  }

  get size(): number {
    return this.kept.size;
  }

  override decide(
    request: KeyedRequest,
    policy: ResolvedPolicy,
    cipher: ColumnCipher,
  ): Decision | undefined {
    const kept = this.find(request);
    if (!kept) return undefined;
    const fingerprint = kept.fingerprintOf(request);
    const decided = decide(kept.key, { fingerprint, owner: NOBODY, cipher }, policy);
    return isDecision(decided) ? decided : undefined;
  }

  override keep(name: KeyName, key: FoundKey, asOf: number): void {
    const until = asOf + Math.min(this.ttl, key.expiresIn ?? Infinity);
    const bytes = OVERHEAD + (key.answer?.body.length ?? 0);
    const tooOld = until <= performance.now() || asOf <= this.clearedAt;
    if (tooOld || this.closed || bytes > this.maxBytes * LARGEST_SHARE) return;
    const id = nameOf(name);
    this.drop(id);
    this.kept.set(id, new CachedKey(key, until, bytes));
    this.bytes += bytes;
    this.makeRoom();
  }

  override clear(): void {
    this.clearedAt = performance.now();
    this.kept.clear();
    this.bytes = 0;
  }

  override close(): void {
    this.closed = true;
    this.clear();
  }

  find(name: KeyName): CachedKey | undefined {
    if (this.kept.size === 0) return undefined;
    const kept = this.kept.get(nameOf(name));
    return kept && performance.now() < kept.until ? kept : undefined;
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
