import { randomUUID } from 'node:crypto';
import type { CrashSafetyRequest } from '../crash-safety.options.js';
import type { OutgoingCall } from '../world/outgoing-call.js';
import type { World } from '../world/world.js';
import type { Director } from './director.js';
import type { Disturbance } from './disturbance.js';
import { changeOf, numbersOf } from './observed-counts.js';
import { Run, type RequestTools } from './run.js';
import { RunRecord } from './run-record.js';
import type { Redelivery, RunResult } from './run-result.js';

/** What a run needs. */
export interface RunTools extends RequestTools {
  director: Director;
  world: World;
}

/** Makes one run: one key, from its first request until nothing changes any more. */
export class RunPerformer {
  /** A retry had to wait for what a dead attempt held: from then on, it is let go at once. */
  private unwindAtOnce = false;

  /** The run before, if its key came to no end. */
  private last: RunRecord | undefined;

  constructor(private readonly tools: RunTools) {}

  /** A worker that one run calls must not go on with the key of another. */
  async retire(): Promise<void> {
    const id = this.last?.keyId;
    this.last = undefined;
    if (id !== undefined) await this.tools.keys.retire(id);
  }

  async perform(disturbance: Disturbance, request: CrashSafetyRequest): Promise<RunResult> {
    const { director, world } = this.tools;
    const startedAt = performance.now();
    await this.retire();
    const record = new RunRecord(randomUUID());
    await world.forget();
    const before = await this.observe();
    const hold = director.direct(record, disturbance);
    const run = new Run(this.tools, record, disturbance, request, this.unwindAtOnce, hold);

    await run.goThrough();
    this.last = run.result.outcome === 'final' ? undefined : record;
    this.unwindAtOnce ||= run.unwound;
    const changes = await world.changes(record);
    const observed = changeOf(before, await this.observe());
    const redelivered =
      disturbance.kind === 'redelivery' ? await this.redeliver(record) : undefined;
    return {
      disturbance,
      record,
      ...run.result,
      changes,
      observed,
      redelivered,
      duration: performance.now() - startedAt,
    };
  }

  /** Each message of the run once, and once again, as after a worker's death. */
  private async redeliver(record: RunRecord): Promise<Redelivery> {
    const { world } = this.tools;
    const { messages } = world;
    const first = await this.deliver(record);
    const before = await this.observe();
    for (const message of messages) await world.redeliver(message);
    await world.forget();
    const second = await this.deliver(record);
    const changes = await world.changes(record);
    const observed = changeOf(before, await this.observe());
    const ids = messages.map(({ id }) => String(id));
    return { messages: ids, changes, observed, calls: { first, second } };
  }

  /** @returns the calls that were made for it */
  private async deliver(record: RunRecord): Promise<OutgoingCall[]> {
    const { director, maintenance } = this.tools;
    const before = record.calls.length;
    director.delivering = true;
    await maintenance.runOnce('outbox').finally(() => (director.delivering = false));
    return record.calls.slice(before);
  }

  private async observe(): Promise<Record<string, number>> {
    return numbersOf((await this.tools.options.observe?.()) ?? {});
  }
}
