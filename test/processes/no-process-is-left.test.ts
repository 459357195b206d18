import { beforeAll, describe, expect, it } from '@jest/globals';
import { isAlive } from '../support/is-alive.mjs';
import { startServer, type ServerProcess } from '../support/server-process.js';
import { until } from '../support/until.js';

describe('A process that a test has started', () => {
  let parent: ServerProcess;
  beforeAll(async () => {
    parent = await startServer('test/servers/parent');
  });

  async function startChild() {
    const [pid, guard] = await parent.ask<[number, number]>('startChild');
    expect([pid, guard].map(isAlive)).toEqual([true, true]);
    return { pid, areGone: () => ![pid, guard].some(isAlive) };
  }

  it('ends together with its guard when it ends by itself', async () => {
    const child = await startChild();
    await parent.ask('signalChild', { pid: child.pid, signal: 'SIGKILL' });
    await until(child.areGone);
  });

  it('ends when the test is killed, even if it is stopped at that moment', async () => {
    const running = await startChild();
    const stopped = await startChild();
    await parent.ask('signalChild', { pid: stopped.pid, signal: 'SIGSTOP' });
    await parent.kill();
    await until(running.areGone);
    await until(stopped.areGone);
  });
});
