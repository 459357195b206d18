import type { HttpPlatformHost } from '../response/http-platform-host.js';
import type { Mutation } from './mutation.js';

const HEADER = 'Idempotent-Replayed';

/**
 * Tells the client that nothing was run: `Idempotent-Replayed: true` on the HTTP response.
 * A document may have several mutations, and the header stands for all of those that are
 * idempotent.
 */
export class ReplayNotice {
  /** Requests of which a mutation was run. */
  private readonly ran = new WeakSet<object>();

  constructor(private readonly http: HttpPlatformHost) {}

  tell({ request }: Mutation, replayed: boolean): void {
    // Over a WebSocket there is no response.
    if (!request?.headers) return;
    if (!replayed) this.ran.add(request);
    this.http.platform.announce(request, HEADER, this.ran.has(request) ? undefined : 'true');
  }
}
