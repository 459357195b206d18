// Node's timers know whole milliseconds only, and may be early by nearly one. A thread that sleeps
// is exact to some hundredths, and does not keep a processor busy as a loop would.
import { fileURLToPath } from 'node:url';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

const SET = 0;
const NEVER = 1;

/** Rings once for each time that it is set; it is set again only after it has rung. */
export class Clock {
  #shared = new SharedArrayBuffer(16);
  #flags = new Int32Array(this.#shared, 0, 2);
  #delay = new Float64Array(this.#shared, 8, 1);

  /** @param {() => void} ring */
  constructor(ring) {
    const thread = new Worker(fileURLToPath(import.meta.url), { workerData: this.#shared });
    thread.on('message', ring);
  }

  /** @param {number} delay in milliseconds */
  ringIn(delay) {
    this.#delay[0] = delay;
    Atomics.store(this.#flags, SET, 1);
    Atomics.notify(this.#flags, SET);
  }
}

if (!isMainThread) {
  const flags = new Int32Array(workerData, 0, 2);
  const delay = new Float64Array(workerData, 8, 1);
  for (;;) {
    Atomics.wait(flags, SET, 0);
    Atomics.store(flags, SET, 0);
    Atomics.wait(flags, NEVER, 0, Math.max(0, Number(delay[0])));
    parentPort?.postMessage(null);
  }
}
