import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RemoteControl } from '../../sample-app/payment-provider/remote-control.js';
import { startServer } from '../support/server-process.js';

export interface PaymentProvider {
  url: string;
  control: RemoteControl;
  /** Stops it; `restart` starts it again on the same port, with the same ledger. */
  stop(): Promise<void>;
  restart(): Promise<void>;
  /** Stops it for good, and removes its ledger. */
  close(): Promise<void>;
}

/** The payment provider in a process of its own, with an empty ledger. */
export async function startPaymentProvider(
  env: Record<string, string> = {},
): Promise<PaymentProvider> {
  const folder = await mkdtemp(join(tmpdir(), 'payment-provider-'));
  const start = (port?: number) =>
    startServer('sample-app/payment-provider/main', {
      port,
      env: { ...env, LEDGER: join(folder, 'ledger.jsonl') },
    });
  let server = await start();
  const { url } = server;
  return {
    url,
    control: new RemoteControl(url),
    stop: () => server.terminate(),
    async restart() {
      server = await start(Number(new URL(url).port));
    },
    async close() {
      await server.terminate();
      await rm(folder, { recursive: true });
    },
  };
}
