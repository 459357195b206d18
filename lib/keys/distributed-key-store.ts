import { Failed } from '../postgres/batcher.js';
import type { Database } from '../postgres/database.js';
import { IS_STALE } from './key-statements.js';
import { KeyStore } from './key-store.js';
import type { KeyOutcome, RecordedOutcome } from './key-outcome.js';
import type { Reservation, ReserveResult } from './reservation.js';

/**
 * The same on tables that are distributed by scope: each reservation and each
 * outcome has statements of its own, which are sent to one node. Whether a new key is stale
 * is asked in a statement before; a key that is not stale then is accepted.
 */
export class DistributedKeyStore extends KeyStore {
  constructor(private readonly nodes: Database) {
    super(nodes);
  }

  override async reserve(wanted: readonly Reservation[]): Promise<ReserveResult[]> {
    return this.oneByOne(wanted, async (reservation) =>
      (await this.isStale(reservation))
        ? this.lookUpOne(reservation)
        : (await super.reserve([undated(reservation)]))[0]!,
    );
  }

  override async lookUp(wanted: readonly Reservation[]): Promise<ReserveResult[]> {
    return this.oneByOne(wanted, (reservation) => this.lookUpOne(reservation));
  }

  override async reserveAndFinish(
    wanted: readonly Reservation[],
    outcomes: readonly KeyOutcome[],
  ): ReturnType<KeyStore['reserveAndFinish']> {
    const reserved = await this.reserve(wanted);
    return { reserved, recorded: await this.finish(outcomes).catch((error) => new Failed(error)) };
  }

  override async finish(outcomes: readonly KeyOutcome[]): Promise<Map<string, RecordedOutcome>> {
    const recorded = await this.oneByOne(outcomes, (outcome) => super.finish([outcome]));
    return new Map(recorded.flatMap((each) => [...each]));
  }

  private async lookUpOne(reservation: Reservation): Promise<ReserveResult> {
    const [found] = await super.lookUp([undated(reservation)]);
    if (found!.kind !== 'missed') return found!;
    return (await this.isStale(reservation)) ? { kind: 'stale' } : found!;
  }

  /** Without a date of the key there is nothing to ask. */
  private async isStale({ madeAt, retention }: Reservation): Promise<boolean> {
    if (madeAt === undefined) return false;
    const [row] = await this.nodes.query<{ stale: boolean }>(IS_STALE, [madeAt, retention]);
    return row!.stale;
  }

  private async oneByOne<Item, Result>(
    items: readonly Item[],
    send: (item: Item) => Promise<Result>,
  ): Promise<Result[]> {
    const results: Result[] = [];
    for (const item of items) results.push(await send(item));
    return results;
  }
}

function undated(reservation: Reservation): Reservation {
  return { ...reservation, madeAt: undefined };
}
