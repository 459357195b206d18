import { open, RAMP, send, summary } from './connections.mjs';
import { freshKey, requestsTo } from './requests.mjs';

/** How often is looked whether a request is due, in milliseconds: as often as Node's timers can. */
const TICK = 1;

/**
 * An open loop: requests leave at a fixed rate, whether earlier ones are answered or not. A latency
 * counts from the time for which its request was planned. A request that finds no idle connection,
 * or a load generator that is late, has thus waited, and a server that stalls cannot hide what
 * would have been sent meanwhile.
 *
 * @param {import('./generator.mjs').Job} job
 * @returns {Promise<import('./generator.mjs').Result>}
 */
export async function paced(job) {
  const { rate = NaN, duration } = job;
  const connections = await open(job);
  const idle = [...connections];
  const request = requestsTo(job.path, job.noteSize);
  const total = Math.floor(((RAMP + duration) / 1_000) * rate);
  const start = performance.now();
  const planned = (/** @type {number} */ index) => start + (index / rate) * 1_000;
  /** @type {number[]} */
  const latencies = [];
  let sent = 0;
  let answered = 0;
  /** @type {NodeJS.Timeout | undefined} */
  let ticking;
  try {
    await new Promise((resolve, reject) => {
      const sendDue = () => {
        while (sent < total && planned(sent) <= performance.now()) {
          const connection = idle.pop();
          if (!connection) return;
          const due = planned(sent);
          sent += 1;
          send(connection, request(freshKey())).then(() => {
            const now = performance.now();
            if (due >= start + RAMP) latencies.push(now - due);
            idle.push(connection);
            answered += 1;
            if (answered === total) resolve(undefined);
            else sendDue();
          }, reject);
        }
      };
      ticking = setInterval(sendDue, TICK);
    });
    const seconds = (performance.now() - start) / 1_000;
    return { total, perSecond: total / seconds, ...summary(latencies), latencies };
  } finally {
    clearInterval(ticking);
    for (const connection of connections) connection.close();
  }
}
