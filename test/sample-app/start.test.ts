import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { send } from '../support/http.js';
import { until } from '../support/until.js';

const CURL =
  /^curl -i (?<url>\S+) -H 'Authorization: (?<authorization>.*?)' -H 'Idempotency-Key: (?<key>.*?)' .* -d '(?<body>.*)'$/gm;

describe.each([['express'], ['fastify']])('npm start on %s', (platform) => {
  let database: TestDatabase;
  let folder: string;
  let child: ChildProcess;
  let output = '';

  beforeAll(async () => {
    database = await createTestDatabase({ migrated: false });
    folder = await mkdtemp(join(tmpdir(), 'rocket-rides-start-'));
  });
  afterAll(async () => {
    child.kill('SIGKILL');
    await database.drop();
    await rm(folder, { recursive: true });
  });

  async function start(): Promise<void> {
    output = '';
    const script = join(process.env['TEST_BUILD'] ?? '', 'sample-app', 'start.js');
    child = spawn(process.execPath, [script, `--${platform}`], {
      cwd: folder,
      env: { ...process.env, DATABASE_URL: database.url, PORT: '0' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child.stdout?.on('data', (chunk) => (output += chunk));
    child.stderr?.on('data', (chunk) => (output += chunk));
    await until(() => output.includes('Ctrl-C ends everything') || child.exitCode !== null);
    expect(output).toContain('Ctrl-C ends everything');
  }

  function urls() {
    const [, app = ''] = output.match(`Rocket Rides on ${platform}: (\\S+)`) ?? [];
    const [, provider = ''] = output.match(/Payment provider: +(\S+)/) ?? [];
    return { app, provider };
  }

  const isGone = (url: string) =>
    send(url, { method: 'GET' }).then(
      () => false,
      (error: NodeJS.ErrnoException) => error.code === 'ECONNREFUSED',
    );

  it('prints lines that work as they say', async () => {
    await start();
    const [ride, otherBody, otherUser, declined] = [...output.matchAll(CURL)].map(
      ({ groups: { url = '', authorization = '', key, body } = {} }) =>
        () =>
          send(url, {
            key,
            body,
            headers: { authorization, 'content-type': 'application/json' },
          }),
    );
    const first = await ride?.();
    expect(first?.status).toBe(201);
    expect((await ride?.())?.text).toBe(first?.text);
    expect((await otherBody?.())?.status).toBe(422);
    expect((await otherUser?.())?.status).toBe(201);
    expect((await declined?.())?.status).toBe(402);
  });

  it('ends everything on Ctrl-C', async () => {
    const { app, provider } = urls();
    child.kill('SIGINT');
    const [code] = await once(child, 'exit');
    expect(code).toBe(0);
    expect(await isGone(app)).toBe(true);
    expect(await isGone(provider)).toBe(true);
  });

  it('leaves nothing running when it is killed itself', async () => {
    await start();
    const { app, provider } = urls();
    child.kill('SIGKILL');
    await until(() => isGone(app));
    await until(() => isGone(provider));
  });
});
