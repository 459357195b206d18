import { setTimeout as delay } from 'node:timers/promises';
import type { StatementPattern } from '../../support/postgres-proxy.js';
import { TIMES } from '../times.js';
import { removeByHand } from '../world/removals.js';
import type { ShopProcess } from '../world/shop-process.js';
import type { World } from '../world/world.js';
import type { FaultKind, PlannedFault } from './plan.js';

/** Up to so many statements of a process are delayed, or lose their replies. */
const MOST_STATEMENTS = 8;

/** Up to ten years ahead or behind. */
const FARTHEST_CLOCK = 10 * 365 * 24 * 3_600_000;

/** Does what the plan says. */
export class Faults {
  readonly counts = new Map<FaultKind, number>();
  /** What was done, in order, for the report of a violation. */
  readonly done: PlannedFault[] = [];
  private readonly running = new Set<Promise<void>>();
  private failure: Error | undefined;

  constructor(
    private readonly world: World,
    /** The keys that may be removed by hand. */
    private readonly forgettable: () => string[],
  ) {}

  /** Begins a fault, as soon as its target is through with the one before. */
  begin(fault: PlannedFault): void {
    this.done.push(fault);
    this.counts.set(fault.kind, (this.counts.get(fault.kind) ?? 0) + 1);
    const ended = this.perform(fault)
      .catch((cause: unknown) => {
        this.failure ??= new Error(`It was not possible to ${fault.kind}.`, { cause });
      })
      .finally(() => this.running.delete(ended));
    this.running.add(ended);
  }

  /** Nothing is disturbed any more. */
  async over(): Promise<void> {
    while (this.running.size > 0) await Promise.all(this.running);
    // A fault that cannot be done is a defect of the soak, or a process that does not start.
    if (this.failure) throw this.failure;
    await this.world.provider.control.next();
    await this.world.provider.control.nextReceipts();
    await this.world.provider.control.release();
  }

  private perform(fault: PlannedFault): Promise<void> {
    const { kind, measure, behaviours } = fault;
    const { database, provider } = this.world;
    switch (kind) {
      case 'kill a server':
        return inTurn(this.mortalServer(fault), (place) => replace(place, 'kill', measure));
      case 'kill the worker':
        return inTurn(this.worker, (place) => replace(place, 'kill', measure));
      case 'deploy':
        return inTurn(this.mortalServer(fault), (place) => {
          place.version = place.version === 1 ? 2 : 1;
          return replace(place, 'terminate', 0);
        });
      case 'stop a server':
        return inTurn(this.server(fault), stop);
      case 'stop the worker':
        return inTurn(this.worker, stop);
      case 'restart the database, immediate':
        return inTurn(database, () => database.restart('immediate'));
      case 'restart the database, fast':
        return inTurn(database, () => database.restart('fast'));
      case 'cut connections':
        return now(() => this.any(fault).proxy.cut());
      case 'refuse connections':
        return inTurn(this.any(fault), async ({ proxy }) => {
          await proxy.refuse();
          await delay(measure * TIMES.lease);
          await proxy.accept();
        });
      case 'lose replies':
        return now(() => {
          const { proxy } = this.any(fault);
          for (let i = 0; i < 1 + measure * MOST_STATEMENTS; i++) void proxy.loseReply(soon());
        });
      case 'delay statements':
        return delayStatements(this.any(fault), measure);
      case 'kill the provider':
        return inTurn(provider, () => provider.crash(() => delay(measure * 1_000)));
      case 'disturb payments':
        return inTurn(provider, async () => {
          await provider.control.next(...behaviours);
          await delay(TIMES.slowPayment);
          await provider.control.release();
        });
      case 'disturb receipts':
        return inTurn(provider, () => provider.control.nextReceipts(...behaviours));
      case 'remove keys by hand':
        // Before the reaper does it.
        return inTurn(database, () =>
          removeByHand(database, this.forgettable(), measure * TIMES.retention),
        );
      case 'step a clock':
        return inTurn(this.server(fault), (place) =>
          place.ask('stepClock', Math.round((measure - 0.5) * 2 * FARTHEST_CLOCK)),
        );
    }
  }

  private server({ target }: PlannedFault): ShopProcess {
    return this.world.servers[target % this.world.servers.length]!;
  }

  private mortalServer({ target }: PlannedFault): ShopProcess {
    const mortal = this.world.servers.filter(({ options }) => options.mortal);
    return mortal[target % mortal.length]!;
  }

  private any({ target }: PlannedFault): ShopProcess {
    return this.world.processes[target % this.world.processes.length]!;
  }

  private get worker(): ShopProcess {
    return this.world.processes.find(({ options }) => options.role === 'worker')!;
  }
}

/** One fault at a time for each target: a process that is stopped cannot be deployed. */
function inTurn<T extends { faults: Promise<unknown> }>(
  target: T,
  work: (target: T) => Promise<unknown>,
): Promise<void> {
  const done = target.faults.then(() => work(target)).then(() => undefined);
  target.faults = done.catch(() => undefined);
  return done;
}

/** Any statement of the next second. What a process sends much later is another fault's business. */
function soon(): StatementPattern {
  const until = performance.now() + 1_000;
  return { test: () => performance.now() < until };
}

async function now(work: () => void): Promise<void> {
  work();
}

async function replace(
  place: ShopProcess,
  how: 'kill' | 'terminate',
  measure: number,
): Promise<void> {
  await place[how]();
  await delay(measure * 1_000);
  await place.start();
}

async function stop(place: ShopProcess): Promise<void> {
  place.pause();
  await delay(TIMES.stop);
  place.resume();
}

/** Statements, and replies, arrive late: some of them beyond the lease. */
async function delayStatements({ proxy }: ShopProcess, measure: number): Promise<void> {
  const held = Array.from({ length: 1 + Math.round(measure * MOST_STATEMENTS) }, (_, index) =>
    index % 2 === 0 ? proxy.holdStatement(soon()) : proxy.holdReply(soon()),
  );
  await delay(measure * 2 * TIMES.lease);
  for (const each of held) each.release();
}
