import { afterEach, describe, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { Job } from '../../lib/background/job.js';
import { barrier } from '../support/barrier.js';

Logger.overrideLogger(false);

let job: Job | undefined;
afterEach(() => job?.stop());

function start(interval: number, work: (batch: number) => Promise<number>): Job {
  job = new Job('sweeper', { interval, batch: 10 }, work);
  job.start();
  return job;
}

describe('A job', () => {
  it('runs again after its interval', async () => {
    const came = barrier();
    came.open();
    start(1, async () => {
      await came.pass();
      return 0;
    });
    await came.arrived(3);
    expect(job!.status).toMatchObject({ running: true, failures: 0 });
  });

  it('runs again soon after a full batch, whatever its interval', async () => {
    const came = barrier();
    came.open();
    start(3_600_000, async (batch) => {
      await came.pass();
      return batch;
    }).wake();
    await came.arrived(3);
    expect(job!.status.handled).toBeGreaterThanOrEqual(20);
  });

  it('can be woken, even while it runs', async () => {
    const came = barrier();
    start(3_600_000, async () => {
      await came.pass();
      return 0;
    }).wake();
    await came.arrived(1);
    job!.wake();
    came.open();
    await came.arrived(2);
    expect(job!.status.running).toBe(true);
  });

  it('continues after a failure and reports it', async () => {
    const came = barrier();
    came.open();
    const failing = start(1, async () => {
      await came.pass();
      if (came.count < 3) throw new Error('no database');
      return 7;
    });
    await came.arrived(2);
    expect(failing.status).toMatchObject({ name: 'sweeper', running: true, handled: 0 });
    await came.arrived(4);
    expect(failing.status.handled).toBeGreaterThanOrEqual(7);
    expect(failing.status).toMatchObject({ failures: 0, lastError: undefined });
  });

  it('tells how often it failed, and why', async () => {
    const came = barrier();
    came.open();
    const failing = start(1, async () => {
      await came.pass();
      throw new Error('no database');
    });
    await came.arrived(3);
    expect(failing.status.failures).toBeGreaterThanOrEqual(2);
    expect(failing.status.lastError).toContain('no database');
  });

  it('finishes the current batch when it is stopped, and starts no other', async () => {
    const came = barrier();
    let finished = 0;
    const stopping = start(1, async () => {
      await came.pass();
      finished += 1;
      return 0;
    });
    await came.arrived(1);
    const stopped = stopping.stop();
    came.open();
    await stopped;
    expect(finished).toBe(1);
    stopping.wake();
    expect(came.count).toBe(1);
  });
});
