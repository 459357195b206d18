import { observeFaultPoints, SimulatedCrash } from '../../lib/faults/fault-points.js';
import { send, type Sending } from './http.js';

/**
 * Sends a request whose attempt plays dead at a fault point, as if its process
 * were killed there: nobody answers, so the client gives up.
 *
 * @param point such as `reserved` or `charge_created:after_call`
 */
export async function crashAt(point: string, url: string, sending: Sending): Promise<void> {
  let die!: () => void;
  const died = new Promise<void>((resolve) => (die = resolve));
  const stopObserving = observeFaultPoints(({ name }) => {
    if (name !== point) return;
    die();
    throw new SimulatedCrash(point);
  });
  const client = new AbortController();
  const answered = send(url, { ...sending, signal: client.signal }).then(({ status, text }) => {
    throw new Error(`No crash at ${point}: the request was answered with ${status} ${text}`);
  });
  try {
    await Promise.race([died, answered]);
  } finally {
    stopObserving();
    client.abort();
    await answered.catch(() => undefined);
  }
}

/** The same for work of this process that no client asked for: it plays dead, and never ends. */
export async function crashIn(point: string, work: () => Promise<unknown>): Promise<void> {
  let die!: () => void;
  const died = new Promise<void>((resolve) => (die = resolve));
  const stopObserving = observeFaultPoints(({ name }) => {
    if (name !== point) return;
    die();
    throw new SimulatedCrash(point);
  });
  const ended = work().then(() => {
    throw new Error(`No crash at ${point}: the work came to its end.`);
  });
  try {
    await Promise.race([died, ended]);
  } finally {
    stopObserving();
    ended.catch(() => undefined);
  }
}
