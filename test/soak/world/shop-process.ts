import { forkServer, type ServerProcess } from '../../support/forked-server.js';
import type { PlatformName } from '../../support/listen.js';
import { startPostgresProxy, type PostgresProxy } from '../../support/postgres-proxy.js';

export interface ShopProcessOptions {
  name: string;
  role: 'server' | 'worker';
  platform: PlatformName;
  /** Survivors are stopped and cut off, but never ended: their memory is measured. */
  mortal: boolean;
  databaseUrl: string;
  paymentsUrl: string;
}

/** Enough of a process's output to explain a violation. */
const KEPT_OUTPUT = 20_000;

/** A place in the deployment: a process comes, goes, and is replaced on the same port. */
export class ShopProcess {
  /** Resolves when what is being done to it is over. */
  faults: Promise<unknown> = Promise.resolve();
  version = 1;
  /** How it ended without being told to, if it did: that is a violation. */
  readonly crashes: string[] = [];
  private port = 0;
  private process: ServerProcess | undefined;

  private constructor(
    readonly options: ShopProcessOptions,
    /** Between it and the database. */
    readonly proxy: PostgresProxy,
  ) {}

  static async start(options: ShopProcessOptions): Promise<ShopProcess> {
    const place = new ShopProcess(options, await startPostgresProxy(options.databaseUrl));
    await place.start();
    return place;
  }

  get name(): string {
    return this.options.name;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** A database that restarts may keep a process from starting: then it is started again. */
  async start(): Promise<void> {
    for (let tries = 1; ; tries++) {
      const { name, role, platform, paymentsUrl } = this.options;
      const started = forkServer('test/soak/shop/server', {
        platform,
        port: this.port,
        env: {
          NAME: name,
          ROLE: role,
          DATABASE: this.proxy.url,
          PAYMENTS_URL: paymentsUrl,
          VERSION: String(this.version),
          // So that what is measured is what a user has.
          NODE_ENV: 'production',
          NO_COLOR: '1',
        },
        nodeOptions: ['--expose-gc'],
      });
      try {
        await started.ready();
        this.process = started;
        void started.exited.then(({ code, signal }) => {
          if (this.process === started) this.crashes.push(`${signal ?? code}: ${this.output}`);
        });
        this.port = Number(new URL(started.url).port);
        return;
      } catch (error) {
        if (tries === 5) throw error;
      }
    }
  }

  async kill(): Promise<void> {
    await this.end()?.kill();
  }

  /** SIGTERM, as a deployment sends it. */
  async terminate(): Promise<void> {
    await this.end()?.terminate();
  }

  pause(): void {
    this.process?.pause();
  }

  resume(): void {
    this.process?.resume();
  }

  ask<T>(command: string, argument?: unknown): Promise<T> {
    if (!this.process) throw new Error(`${this.name} does not run.`);
    return this.process.ask<T>(command, argument);
  }

  /** What would grow with the length of the run in the process of the soak itself. */
  forget(): void {
    this.proxy.statements.length = 0;
    if (this.process) this.process.output = this.process.output.slice(-KEPT_OUTPUT);
  }

  get output(): string {
    return this.process?.output.slice(-KEPT_OUTPUT) ?? '';
  }

  private end(): ServerProcess | undefined {
    const ending = this.process;
    this.process = undefined;
    return ending;
  }

  async close(): Promise<void> {
    await this.kill();
    await this.proxy.close();
  }
}
