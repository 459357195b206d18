import { observeFaultPoints, SimulatedCrash } from '../../lib/faults/fault-points.js';
import { send, type Sending } from './http.js';

/**
 * Sends a request whose attempt stops for good at a fault point, as if its process
 * were killed there: nobody answers, so the client gives up.
 *
 * @param point such as `reserved` or `charge_created:after_call`
 */
export async function crashAt(point: string, url: string, sending: Sending): Promise<void> {
  const client = new AbortController();
  try {
    await crashIn(point, async () => {
      const { status, text } = await send(url, { ...sending, signal: client.signal });
      return `${status} ${text}`;
    });
  } finally {
    client.abort();
  }
}

/** The same for work of this process that no client asked for. It stops there, and may never end. */
export async function crashIn(point: string, work: () => Promise<unknown>): Promise<void> {
  let die!: () => void;
  const died = new Promise<void>((resolve) => (die = resolve));
  const stopObserving = observeFaultPoints(({ name }) => {
    if (name !== point) return;
    die();
    throw new SimulatedCrash(point);
  });
  const ended = work().then((result) => {
    throw new Error(`No crash at ${point}: it ended with ${String(result)}`);
  });
  // A client that has given up is told so by an error of its own.
  ended.catch(() => undefined);
  try {
    await Promise.race([died, ended]);
  } finally {
    stopObserving();
  }
}
