import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { announceReady } from '../processes/announce-ready.js';
import { Ledger } from './ledger.js';
import { createPaymentProvider } from './server.js';

/** The provider's own process: it shares nothing with the app but HTTP. */
const ledgerPath = process.env['LEDGER'];
if (!ledgerPath) {
  throw new Error('Set LEDGER to the file in which the payment provider keeps its books.');
}

// Long enough to be noticed by a person, short enough for the app's time-out of ten seconds.
const slowMs = Number(process.env['SLOW_MS'] ?? 3_000);

const ledger = await Ledger.open(ledgerPath);
const server = createPaymentProvider(ledger, slowMs);
server.listen(Number(process.env['PORT'] ?? 0), '127.0.0.1');
await once(server, 'listening');

process.once('SIGTERM', () => {
  server.close(() => void ledger.close());
  server.closeAllConnections();
});

announceReady(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
