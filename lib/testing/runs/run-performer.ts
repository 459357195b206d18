import { randomUUID } from 'node:crypto';
import type { CrashSafetyRequest } from '../crash-safety.options.js';
import type { World } from '../world/world.js';
import type { Director } from './director.js';
import type { Disturbance } from './disturbance.js';
import { changeOf, numbersOf } from './observed-counts.js';
import { Redelivery } from './redelivery.js';
import { Run, type RequestTools } from './run.js';
import { RunRecord } from './run-record.js';
import type { RunResult } from './run-result.js';

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

  private readonly redelivery: Redelivery;

  constructor(private readonly tools: RunTools) {
    const { world, director, maintenance } = tools;
    this.redelivery = new Redelivery(world, director, maintenance, () => this.observe());
  }

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
      disturbance.kind === 'redelivery' ? await this.redelivery.of(record) : undefined;
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

  private async observe(): Promise<Record<string, number>> {
    return numbersOf((await this.tools.options.observe?.()) ?? {});
  }
}
