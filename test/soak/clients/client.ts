import { setTimeout as delay } from 'node:timers/promises';
import { send, type Received } from '../../support/http.js';
import { TIMES } from '../times.js';
import type { ShopProcess } from '../world/shop-process.js';
import { isBrief, type Errand } from './errand.js';
import type { Journal, KeyHistory } from './journal.js';

/** Some clients leave in the middle of a request, after so many milliseconds at most. */
const IMPATIENCE = 1_500;
const PAUSE = { least: 50, most: 1_000 };

/** Sends the requests of one errand until it has a final answer, or leaves for good. */
export async function runErrand(
  errand: Errand,
  servers: readonly ShopProcess[],
  journal: Journal,
): Promise<void> {
  const { random, duplicates, retries } = errand;
  const history = journal.open(errand);
  const longest = isBrief(errand) ? TIMES.briefRetries : Number.POSITIVE_INFINITY;
  const begun = performance.now();
  const timeLeft = () => longest - (performance.now() - begun);
  const ask = () => {
    const patience = random.chance(0.15) ? random.integer(1, IMPATIENCE) : TIMES.patience;
    return visit(history, random.pick(servers), journal, Math.min(patience, timeLeft()));
  };
  const first = await Promise.all(Array.from({ length: duplicates }, ask));
  let ended = first.some(isFinal);
  for (let retry = 0; retry < retries && !ended; retry++) {
    await delay(random.integer(PAUSE.least, PAUSE.most));
    if (timeLeft() <= 0) break;
    ended = isFinal(await ask());
  }
  history.isOver = true;
}

/** One request of an errand. Undefined: no answer came. */
export function visit(
  history: KeyHistory,
  server: ShopProcess,
  journal: Journal,
  patience: number,
): Promise<Received | undefined> {
  const { key, route, purchase } = history.errand;
  return journal.note(history, () =>
    send(`${server.url}/purchases/${route}`, {
      key,
      body: purchase,
      headers: { 'x-customer': purchase.customer },
      signal: AbortSignal.timeout(Math.ceil(patience)),
    }),
  );
}

export function isFinal(received: Received | undefined): boolean {
  return received?.headers.has('idempotency-key-expires') ?? false;
}
