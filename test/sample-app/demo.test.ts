import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from '@jest/globals';
import { isAlive } from '../../sample-app/database/is-alive.mjs';

describe.each([['express'], ['fastify']])('The demo on %s', (platform) => {
  it('runs to its end, every expectation holds, and no process is left', async () => {
    const demo = join(process.env['TEST_BUILD'] ?? '', 'sample-app', 'demo', 'main.js');
    const child = spawn(process.execPath, [demo, `--${platform}`], {
      env: { ...process.env, DATABASE_URL: process.env['TEST_SERVER_URL'] },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const exit = once(child, 'close');
    const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
    const [code] = await exit;

    expect(`${output}${errors}`).toContain('Every expectation held');
    expect(output).toContain(`Rocket Rides on ${platform}`);
    expect(output).not.toContain('✗');
    expect(code).toBe(0);

    const pids = [...output.matchAll(/process(?: of the app:)? (\d+)/g)].map(([, pid]) =>
      Number(pid),
    );
    expect(pids).toHaveLength(3); // the app, the provider, and the app that continues after kill -9
    expect(pids.filter(isAlive)).toEqual([]);
  });
});
