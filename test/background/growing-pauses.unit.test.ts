import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { Job } from '../../lib/background/job.js';

Logger.overrideLogger(false);

let job: Job;
const pauses: number[] = [];

/** Runs the job on a clock of its own, and notes after how long each look came. */
function start(finds: (look: number) => number): void {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask'] });
  jest.spyOn(Math, 'random').mockReturnValue(0.5); // neither shortened nor lengthened
  pauses.length = 0;
  let last = performance.now();
  job = new Job('outbox', { interval: 1_000, maxInterval: 5_000, batch: 10 }, async () => {
    pauses.push(performance.now() - last);
    last = performance.now();
    return finds(pauses.length);
  });
  job.start();
}

afterEach(async () => {
  await job.stop();
  jest.restoreAllMocks();
  jest.useRealTimers();
});

describe('A job that finds nothing', () => {
  it('runs less and less often, up to a limit', async () => {
    start(() => 0);
    await jest.advanceTimersByTimeAsync(30_000);
    expect(pauses).toEqual([1_000, 2_000, 4_000, 5_000, 5_000, 5_000, 5_000]);
  });

  it('starts again with short pauses when it has found something', async () => {
    start((look) => (look === 4 ? 1 : 0));
    await jest.advanceTimersByTimeAsync(20_000);
    expect(pauses).toEqual([1_000, 2_000, 4_000, 5_000, 1_000, 2_000, 4_000]);
  });

  it('runs at once when it is woken, and starts again with short pauses if it found something', async () => {
    start((look) => (look === 4 ? 1 : 0));
    await jest.advanceTimersByTimeAsync(7_500); // three looks, the next one in 4.5 s
    job.wake();
    await jest.advanceTimersByTimeAsync(4_000);
    expect(pauses).toEqual([1_000, 2_000, 4_000, 500, 1_000, 2_000]);
  });
});
