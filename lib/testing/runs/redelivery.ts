import { setTimeout as pause } from 'node:timers/promises';
import type { Maintenance } from '../../background/maintenance.js';
import type { OutgoingCall } from '../world/outgoing-call.js';
import type { World } from '../world/world.js';
import type { Director } from './director.js';
import { changeOf } from './observed-counts.js';
import type { RunRecord } from './run-record.js';
import type { Redelivered } from './run-result.js';

/** More than a backlog can be; a message that is due again at once must not hold up the kit. */
const MOST_BATCHES = 100;

/** What becomes of the messages of a run: each is delivered, then again, then with lost answers. */
export class Redelivery {
  constructor(
    private readonly world: World,
    private readonly director: Director,
    private readonly maintenance: Maintenance,
    private readonly observe: () => Promise<Record<string, number>>,
  ) {}

  async of(record: RunRecord): Promise<Redelivered> {
    const { world } = this;
    const { messages } = world;
    const first = await this.deliver(record);
    const before = await this.observe();
    // As after the death of a worker that had no time to note the delivery.
    for (const message of messages) await world.putBack(message);
    await world.forget();
    const second = await this.deliver(record);
    const changes = await world.changes(record);
    const observed = changeOf(before, await this.observe());

    const unheard: Redelivered['unheard'] = [];
    for (const message of messages) {
      await world.putBack(message);
      const calls = await this.deliver(record, 'answers lost');
      const call = calls.find(({ safe, kind }) => !safe && kind === 'http');
      // A handler that hears of it throws, and its message is kept.
      const kept = await world.remove(message);
      if (call && !kept) unheard.push({ topic: String(message['topic']), call });
    }
    const ids = messages.map(({ id }) => String(id));
    return { messages: ids, changes, observed, calls: { first, second }, unheard };
  }

  /**
   * All that is due, the messages of earlier runs too: what is delivered next time is of this run.
   *
   * @returns the calls that were made for it
   */
  private async deliver(
    { calls }: RunRecord,
    how: 'undisturbed' | 'answers lost' = 'undisturbed',
  ): Promise<OutgoingCall[]> {
    const before = calls.length;
    this.director.delivering = how;
    try {
      for (let batch = 0; batch < MOST_BATCHES; batch++) {
        if ((await this.maintenance.runOnce('outbox')) === 0) break;
      }
      // Also of what nobody awaits.
      const isOver = () => calls.slice(before).every(({ answered }) => answered);
      for (let round = 0; round < 20 && !isOver(); round++) await pause(3);
    } finally {
      this.director.delivering = undefined;
    }
    return calls.slice(before);
  }
}
