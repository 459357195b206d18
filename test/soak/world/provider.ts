import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RemoteControl } from '../../../sample-app/payment-provider/remote-control.js';
import { forkServer, type ServerProcess } from '../../support/forked-server.js';
import { TIMES } from '../times.js';

/** The payment provider of the sample, in a process of its own, with its ledger on disk. */
export class Provider {
  /** Resolves when what is being done to it is over. */
  faults: Promise<unknown> = Promise.resolve();
  readonly control: RemoteControl;
  readonly url: string;

  private constructor(
    private readonly folder: string,
    private process: ServerProcess,
  ) {
    this.url = process.url;
    this.control = new RemoteControl(process.url);
  }

  static async start(): Promise<Provider> {
    const folder = await mkdtemp(join(tmpdir(), 'soak-provider-'));
    return new Provider(folder, await startOn(folder));
  }

  /** Its connections break, and nobody listens until it is back with the same ledger. */
  async crash(downFor: () => Promise<void>): Promise<void> {
    await this.process.kill();
    await downFor();
    this.process = await startOn(this.folder, Number(new URL(this.url).port));
  }

  async close(): Promise<void> {
    await this.process.kill();
    await rm(this.folder, { recursive: true });
  }
}

async function startOn(folder: string, port?: number): Promise<ServerProcess> {
  const started = forkServer('sample-app/payment-provider/main', {
    port,
    env: { LEDGER: join(folder, 'ledger.jsonl'), SLOW_MS: String(TIMES.slowPayment) },
  });
  await started.ready();
  return started;
}
