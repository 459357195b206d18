import { setTimeout as pause } from 'node:timers/promises';
import type { WaitingPlaces } from '../limits/waiting-places.js';
import type { ResolvedPolicy } from '../policy/resolve-policy.js';
import { ofKey } from '../telemetry/key-labels.js';
import { publish } from '../telemetry/publish.js';
import type { Asker } from './asker.js';
import type { Decision } from './decision.js';
import type { FoundKey } from './found-key.js';
import { givesAddress } from './reservation.js';
import type { WaitingRequests } from './waiting-requests.js';

/** How long a transaction that is about to commit takes. */
const COMMIT_PAUSE = 20;

/** The pause between two reads of a row that stays locked. */
const LOCKED_PAUSE = 100;

/** What a request gets for a key that somebody else has right now: it waits, or learns that the key is in progress. */
export class BusyKeys {
  private closed = false;

  constructor(
    private readonly waitingRequests: WaitingRequests,
    private readonly places: WaitingPlaces,
  ) {}

  /** For shutdown: nobody waits any more. */
  close(): void {
    this.closed = true;
    this.waitingRequests.wakeAll();
  }

  /**
   * The key's row is locked right now: read it once more, and then treat it as
   * running. A waiting duplicate keeps reading, because no attempt will wake it.
   */
  async locked(key: FoundKey, asker: Asker): Promise<Decision | undefined> {
    asker.timesLocked += 1;
    const first = asker.timesLocked === 1;
    if (!first && !((await this.hasPlace(asker)) && this.mayWait(asker)))
      return inProgress(key, asker.policy);
    await pause(first ? COMMIT_PAUSE : LOCKED_PAUSE);
    return undefined;
  }

  /** The lease of its attempt is live: a duplicate waits for its end, or is told of it. */
  async running(key: FoundKey, asker: Asker): Promise<Decision | undefined> {
    if ((await this.hasPlace(asker)) && this.mayWait(asker)) {
      const { client, waitUntil } = asker;
      await this.waitingRequests.wait(key, waitUntil - performance.now(), client);
      // The client has left. Its request must not run the key, which may be free now.
      if (!client?.gone) return undefined;
    }
    return inProgress(key, asker.policy);
  }

  private mayWait({ policy, client, waitUntil }: Asker): boolean {
    const waits = policy.onInProgress === 'wait' && policy.run === 'request';
    return waits && performance.now() < waitUntil && !this.closed && !client?.gone;
  }

  /** Over the limit of its scope, a duplicate does not wait. */
  private async hasPlace(asker: Asker): Promise<boolean> {
    if (asker.leavePlace === undefined && this.mayWait(asker)) {
      const { reservation } = asker;
      const { ofClient, scope, observed } = reservation;
      asker.leavePlace = (await this.places.take(scope, ofClient)) ?? null;
      if (!asker.leavePlace) {
        const { route } = observed;
        publish('limited', () => ({ ...ofKey(reservation), route, limit: 'waiting' }));
      }
    }
    return asker.leavePlace !== null;
  }
}

function inProgress({ id, runningFor }: FoundKey, policy: ResolvedPolicy): Decision {
  return { kind: givesAddress(policy) ? 'accepted' : 'inProgress', id, runningFor };
}
