import type { ClientBase, Pool } from 'pg';
import type { DataSource } from 'typeorm';
import type { Lane } from './lane.js';
import { PoolWatch } from './pool-watch.js';
import { ReservedConnection, type Connection } from './reserved-connection.js';
import { TimelineFence } from './timeline-fence.js';

/** How long a busy pool usually takes to free a connection. */
const URGENT_PATIENCE = 250;

/** Where the library's statements get their connections. */
export class Connections {
  private readonly fence: TimelineFence;
  private readonly reserved: ReservedConnection;
  private readonly poolWatch: PoolWatch;

  constructor(
    private readonly dataSource: DataSource,
    timeout: number,
  ) {
    this.fence = new TimelineFence(timeout);
    this.reserved = new ReservedConnection(dataSource, timeout, (pool) => this.fence.watch(pool));
    this.poolWatch = new PoolWatch(dataSource);
  }

  open(): void {
    this.poolWatch.install();
    this.fence.install((this.dataSource.driver as unknown as { master?: Pool }).master);
  }

  async close(): Promise<void> {
    this.poolWatch.uninstall();
    this.fence.uninstall();
    await this.reserved.close();
  }

  /** All connections of the pool are in use. */
  get areExhausted(): boolean {
    return this.poolWatch.isExhausted;
  }

  connect(lane: Lane): Promise<Connection> {
    if (lane === 'reserved') return this.reserved.connect();
    if (lane === 'urgent' && this.areExhausted) return this.connectUrgently();
    return this.connectToPool();
  }

  private async connectToPool(): Promise<Connection> {
    const runner = this.dataSource.createQueryRunner();
    const asked = performance.now();
    const client = (await runner.connect()) as ClientBase;
    this.poolWatch.waited(performance.now() - asked);
    return { client, runner, release: () => runner.release() };
  }

  private async connectUrgently(): Promise<Connection> {
    const pooled = this.connectToPool();
    const first = await Promise.race([pooled, afterPatience(pooled)]);
    if (first) return first;
    // Its result is not needed any more.
    pooled.then(
      ({ release }) => release(),
      () => undefined,
    );
    return this.reserved.connect();
  }
}

/** Undefined, unless the connection comes before that. */
function afterPatience(pooled: Promise<unknown>): Promise<undefined> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, URGENT_PATIENCE, undefined).unref();
    const stop = () => clearTimeout(timer);
    // Not with an AbortSignal: each abort creates an error with its stack.
    pooled.then(stop, stop);
  });
}
