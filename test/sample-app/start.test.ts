import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { send } from '../support/http.js';
import { until } from '../support/until.js';

const CURL =
  /^curl -i (?<url>\S+) -H 'Authorization: (?<authorization>.*?)' -H 'Idempotency-Key: (?<key>.*?)' .* -d '(?<body>.*)'$/gm;

describe('npm start', () => {
  let database: TestDatabase;
  let folder: string;
  let child: ChildProcess;

  beforeAll(async () => {
    database = await createTestDatabase({ migrated: false });
    folder = await mkdtemp(join(tmpdir(), 'rocket-rides-start-'));
  });
  afterEach(() => {
    child.kill('SIGKILL');
  });
  afterAll(async () => {
    await database.drop();
    await rm(folder, { recursive: true });
  });

  /** Runs it until it has printed what to try, or has given up. */
  async function start(options: { platform?: string; port?: string; through?: 'sh' } = {}) {
    const { platform = 'express', port = '0', through } = options;
    const script = join(process.env['TEST_BUILD'] ?? '', 'sample-app', 'start.js');
    const command = [process.execPath, script, `--${platform}`];
    // A shell that waits for its command, as npm uses it, and does not become it.
    const wrapper = through ? ['sh', '-c', '"$@"; exit $?', 'sh'] : [];
    const [file = '', ...args] = [...wrapper, ...command];
    child = spawn(file, args, {
      cwd: folder,
      env: { ...process.env, DATABASE_URL: database.url, PORT: port },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    child.stdout?.on('data', (chunk) => (output += chunk));
    child.stderr?.on('data', (chunk) => (output += chunk));
    await until(() => output.includes('Ctrl-C ends everything') || child.exitCode !== null);
    const [, app = ''] = output.match(`Rocket Rides on ${platform}: (\\S+)`) ?? [];
    const [, provider = ''] = output.match(/Payment provider: +(\S+)/) ?? [];
    return { output, app, provider };
  }

  const isGone = (url: string) =>
    send(url, { method: 'GET' }).then(
      () => false,
      (error: NodeJS.ErrnoException) => error.code === 'ECONNREFUSED',
    );

  it.each(['express', 'fastify'])(
    'prints commands that work on %s, and ends everything on Ctrl-C',
    async (platform) => {
      const { output, app, provider } = await start({ platform });
      const lines = [...output.matchAll(CURL)].map(({ groups = {} }) => {
        const { url = '', authorization = '', key, body } = groups;
        return () => send(url, { key, body, headers: { authorization } });
      });
      const [ride, otherBody, otherUser, declined] = lines;
      const first = await ride?.();
      expect(first?.status).toBe(201);
      expect((await ride?.())?.text).toBe(first?.text);
      expect((await otherBody?.())?.status).toBe(422);
      expect((await otherUser?.())?.status).toBe(201);
      expect((await declined?.())?.status).toBe(402);

      const [, page = '', user, password] =
        output.match(/Operator page: +(\S+) \(user (\S+), password (\S+)\)/) ?? [];
      const authorization = `Basic ${btoa(`${user}:${password}`)}`;
      const closed = await send(page, { method: 'GET' });
      expect([closed.status, closed.headers.get('www-authenticate')]).toEqual([
        401,
        expect.stringMatching(/^Basic /),
      ]);
      const opened = await send(page, { method: 'GET', headers: { authorization } });
      expect(opened.text).toContain(`Signed in as <b><bdi>${user}</bdi></b>`);

      child.kill('SIGINT');
      const [code] = await once(child, 'exit');
      expect(code).toBe(0);
      expect(await isGone(app)).toBe(true);
      expect(await isGone(provider)).toBe(true);
    },
  );

  it('leaves nothing running when it is killed itself', async () => {
    const { app, provider } = await start();
    child.kill('SIGKILL');
    await until(() => isGone(app));
    await until(() => isGone(provider));
  });

  it('leaves nothing running when only its shell is ended', async () => {
    const { app, provider } = await start({ through: 'sh' });
    child.kill('SIGTERM');
    await until(() => isGone(app));
    await until(() => isGone(provider));
  });

  it('says why it cannot start, and leaves nothing running', async () => {
    const { app } = await start();
    const first = child;
    const { port } = new URL(app);
    const second = await start({ port });
    expect(child.exitCode).toBe(1);
    expect(second.output).toContain(`Port ${port} is in use`);
    expect(await isGone(app)).toBe(false);
    first.kill('SIGINT');
    await once(first, 'exit');
  });
});
