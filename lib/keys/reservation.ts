import { randomUUID } from 'node:crypto';
import type { ColumnCipher } from '../encryption/column-cipher.js';
import type { ResolvedPolicy } from '../policy/resolve-policy.js';
import type { RequestSummary } from '../request/kept-request.js';
import { keyTime } from '../request/key-time.js';
import type { KeyedRequest } from '../request/request-reader.js';
import type { KeyName } from '../schema/key-name.js';
import type { Observation } from '../telemetry/observation.js';
import type { FoundKey } from './found-key.js';

/** A request for the right to run a key. */
export interface Reservation extends KeyName {
  fingerprint: Buffer;
  /** Created before the first statement, so that a lost reply is recognised. */
  owner: string;
  lease: number;
  retention: number | null;
  onAbandoned: 'resume' | 'unknown';
  onExpired: 'forget' | 'gone';
  /**
   * A crash of the server may lose it, so it need not wait for the disk: nothing has happened
   * then, and nothing can happen under it any more. The first phase, or the answer, is committed
   * after it, and with that commit it is kept.
   */
  mayBeLost?: boolean | undefined;
  /**
   * When the client created the key, in milliseconds. A new key that is older
   * than its retention is refused.
   */
  madeAt?: number | undefined;
  asked: RequestSummary;
  /** Of its scope. */
  cipher: ColumnCipher;
  observed: Observation;
  /** The limits of its scope hold for it. */
  ofClient?: boolean | undefined;
}

export type ReserveResult =
  | { kind: 'reserved'; id: string }
  | { kind: 'found'; key: FoundKey }
  /** Lost the insert, and the winner's row has been removed since: reserve again. */
  | { kind: 'missed' }
  /** A new key that is too old to be accepted. */
  | { kind: 'stale' }
  /** A transaction holds the key's row and does not end, and nothing is committed yet. */
  | { kind: 'locked'; error: unknown }
  /** Not free, and it could not be read. The other reservations of its statement are valid. */
  | { kind: 'unread'; error: unknown };

/** A class, because it lives as long as its request: see "Garbage collection" in bench/README.md. */
export class RequestReservation implements Reservation {
  readonly scope: string;
  readonly endpoint: string;
  readonly key: string;
  readonly fingerprint: Buffer;
  readonly owner = randomUUID();
  readonly lease: number;
  readonly retention: number | null;
  readonly onAbandoned: Reservation['onAbandoned'];
  readonly onExpired: Reservation['onExpired'];
  readonly mayBeLost: boolean;
  readonly madeAt: number | undefined;
  readonly asked: Reservation['asked'];
  readonly observed: Observation;
  readonly ofClient: boolean | undefined;

  constructor(
    request: KeyedRequest,
    policy: ResolvedPolicy,
    public cipher: ColumnCipher,
  ) {
    this.scope = request.scope;
    this.endpoint = request.endpoint;
    this.key = request.key;
    this.fingerprint = request.fingerprint;
    this.lease = policy.lease;
    this.retention = policy.retention;
    this.onAbandoned = policy.onAbandoned;
    this.onExpired = policy.onExpired;
    this.mayBeLost = policy.phased && !givesAddress(policy);
    this.madeAt = policy.staleKeys === 'reject' ? keyTime(request.key) : undefined;
    this.asked = request.summarise();
    this.observed = request.observed;
    this.ofClient = request.ofClient;
  }
}

/**
 * A request for a running key is accepted, and its client may get an address with the id. After a
 * crash that has lost the key, another one could have this id.
 */
export function givesAddress(policy: ResolvedPolicy): boolean {
  return policy.onInProgress === 'accept' || policy.run === 'background';
}
