import { expect, it } from '@jest/globals';
import { hostname } from 'node:os';
import { send } from '../support/http.js';
import { forEachPlatform } from '../support/platforms.js';
import { startPageApp } from './page-app.js';

forEachPlatform('The job list of the operator page', (platform) => {
  it('names the process of each job, and says which processes are gone', async () => {
    const app = await startPageApp(platform);
    for (const [host, silent] of [
      ['worker-1', '1 second'],
      ['<b>worker-2</b>', '10 minutes'],
    ]) {
      await app.database.query(
        `INSERT INTO idempotency_processes (id, host, pid, version, jobs, reported_at)
         VALUES (gen_random_uuid(), $1, 7, '0.1.0', $2, now() - $3::interval)`,
        [
          host,
          JSON.stringify([{ name: 'outbox', running: true, handled: 3, runs: 9, failures: 0 }]),
          silent,
        ],
      );
    }
    const { status, text } = await send(app.page, { method: 'GET', headers: { 'x-user': 'ada' } });
    expect(status).toBe(200);
    expect(text).toContain('Jobs of all processes');
    expect(text).toContain(`${hostname()}, process ${process.pid}`);
    const rowOf = (name: string) => text.split('<tr>').find((row) => row.includes(name));
    expect(rowOf('worker-1, process 7')).toMatch(/on<\/span>/);
    expect(rowOf('&lt;b&gt;worker-2&lt;/b&gt;, process 7')).toMatch(/gone<\/span>/);
    await app.close();
  });
});
