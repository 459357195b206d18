import { Injectable } from '@nestjs/common';
import type { ObservedAnswer } from '../answers/answer.js';
import { ColumnCiphers } from '../encryption/column-cipher.js';
import type { ResolvedPolicy } from '../policy/resolve-policy.js';
import type { KeyedRequest } from '../request/request-reader.js';
import type { Client } from '../response/client.js';
import { ofKey } from '../telemetry/key-labels.js';
import { publish } from '../telemetry/publish.js';
import type { Attempt } from './attempt.js';
import type { Decision } from './decision.js';
import { Recorder, type Recorded } from './recorder.js';
import { ReplayCache } from './replay-cache.js';
import { Reservations } from './reservations.js';

/** The life of a request's key, as the interceptor sees it. */
@Injectable()
export class KeyService {
  constructor(
    private readonly replays: ReplayCache,
    private readonly reservations: Reservations,
    private readonly recorder: Recorder,
    private readonly ciphers: ColumnCiphers,
  ) {}

  /**
   * What the request gets. With `run`, the key is reserved or taken over for it.
   *
   * @param client who waits for the answer; undefined if that is not known
   */
  async decide(
    request: KeyedRequest,
    policy: ResolvedPolicy,
    client: Client | undefined,
  ): Promise<Decision> {
    const ready = this.ciphers.of(request.scope);
    const cipher = ready instanceof Promise ? await ready : ready;
    const decision =
      this.replays.decide(request, policy, cipher) ??
      (await this.reservations.reserve(request, policy, client, cipher));
    const { route } = request.observed;
    if (decision.kind === 'replay') publish('replayed', () => ({ ...ofKey(request), route }));
    if (decision.kind === 'limited') {
      const { limit } = decision;
      publish('limited', () => ({ ...ofKey(request), route, limit }));
    }
    if (decision.kind === 'accepted') publish('accepted', () => ({ ...ofKey(request), route }));
    return decision;
  }

  /**
   * Records the outcome of an attempt. Throws if its answer must not be sent: it
   * could not be recorded, the lease is lost, or a foreign call is in doubt.
   */
  record(attempt: Attempt, observed: ObservedAnswer): Promise<Recorded> {
    return this.recorder.record(attempt, observed);
  }

  /** For shutdown: no further key is reserved, and waiting requests are released. */
  close(): void {
    this.replays.close();
    this.reservations.close();
  }
}
