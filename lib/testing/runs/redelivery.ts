import { setTimeout as pause } from 'node:timers/promises';
import type { Maintenance } from '../../background/maintenance.js';
import { onIdempotencyEvent } from '../../telemetry/publish.js';
import type { Change } from '../world/changes.js';
import type { OutgoingCall } from '../world/outgoing-call.js';
import type { World } from '../world/world.js';
import type { Director } from './director.js';
import { changeOf } from './observed-counts.js';
import type { RunRecord } from './run-record.js';

/** A delivery that failed although nobody disturbed it, or did not although its call did. */
export interface WrongDelivery {
  topic: string;
  error?: string;
  call?: OutgoingCall;
}

export interface RedeliveryResult {
  /** What changed when each message was delivered a second time. */
  changes: Change[];
  observed: Record<string, number>;
  wrong: WrongDelivery[];
}

type Message = World['messages'][number];

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

  async of(record: RunRecord): Promise<RedeliveryResult> {
    const { world } = this;
    const { messages } = world;
    const errors = await this.deliver('undisturbed');
    await world.changes(record);
    const before = await this.observe();
    const failed = messages.filter(({ id }) => errors.get(id) !== undefined);
    const delivered = messages.filter((message) => !failed.includes(message));
    for (const message of delivered) await world.putBack(message);
    await world.forget();
    await this.deliver('undisturbed');
    const changes = await world.changes(record);
    const observed = changeOf(before, await this.observe());

    const wrong = failed.map(({ id, topic }): WrongDelivery => ({
      topic: String(topic),
      error: errors.get(id)!,
    }));
    for (const message of delivered) wrong.push(...(await this.loseAnswers(message, record)));
    return { changes, observed, wrong };
  }

  /** A handler that does not hear of its call's failure lets the message go for ever. */
  private async loseAnswers(message: Message, { calls }: RunRecord): Promise<WrongDelivery[]> {
    const earlier = calls.length;
    await this.world.putBack(message);
    const errors = await this.deliver('answers lost', () =>
      calls.slice(earlier).every(({ answered }) => answered),
    );
    await this.world.remove(message);
    const call = calls.slice(earlier).find(({ safe, kind }) => !safe && kind === 'http');
    const swallowed = call && errors.has(message.id) && errors.get(message.id) === undefined;
    return swallowed ? [{ topic: String(message.topic), call }] : [];
  }

  /**
   * All that is due, the messages of earlier runs too.
   *
   * @param over what nobody awaits has come to its end as well
   * @returns by id of the message: why its delivery failed; undefined where it did not
   */
  private async deliver(
    how: 'undisturbed' | 'answers lost',
    over: () => boolean = () => true,
  ): Promise<Map<unknown, string | undefined>> {
    const ends = new Map<unknown, string | undefined>();
    const undo = [
      onIdempotencyEvent('outbox_delivered', ({ id }) => void ends.set(id, undefined)),
      ...(['outbox_failed', 'outbox_dead'] as const).map((name) =>
        onIdempotencyEvent(name, ({ id, error }) => void ends.set(id, error)),
      ),
    ];
    this.director.delivering = how;
    try {
      for (let batch = 0; batch < MOST_BATCHES; batch++) {
        if ((await this.maintenance.runOnce('outbox')) === 0) break;
      }
      for (let round = 0; round < 20 && !over(); round++) await pause(3);
    } finally {
      this.director.delivering = undefined;
      for (const each of undo) each();
    }
    return ends;
  }
}
