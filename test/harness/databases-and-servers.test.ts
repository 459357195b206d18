import { Body, Controller, Post } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { barrier } from '../support/barrier.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { send } from '../support/http.js';
import { forEachPlatform, type TestApp } from '../support/platforms.js';
import { startServer } from '../support/server-process.js';

describe('Test databases', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());

  it('hold the tables of the library', async () => {
    const tables = await database.query(
      `SELECT table_name FROM information_schema.tables WHERE table_name LIKE 'idempotency%'`,
    );
    expect(tables).toContainEqual({ table_name: 'idempotency_keys' });
  });

  it('are isolated from each other', async () => {
    const other = await createTestDatabase({ migrated: false });
    await database.query('CREATE TABLE only_here (id int)');
    await expect(other.query('SELECT * FROM only_here')).rejects.toThrow('does not exist');
    await other.drop();
  });
});

forEachPlatform('Test servers', (platform) => {
  describe('A server in this process', () => {
    const gate = barrier();

    @Controller('echo')
    class EchoController {
      @Post()
      async echo(@Body() body: unknown) {
        await gate.pass();
        return body;
      }
    }

    let server: TestApp;
    beforeAll(async () => {
      server = await platform.start({ controllers: [EchoController] });
    });

    it('answers once the barrier is open', async () => {
      const answers = [1, 2].map((n) => send(`${server.url}/echo`, { key: `k${n}`, body: { n } }));
      await gate.arrived(2);
      gate.open();
      const [first] = await Promise.all(answers);
      expect(first?.status).toBe(201);
      expect(first?.json()).toEqual({ n: 1 });
    });
  });

  describe('A server in a process of its own', () => {
    it('sends events, answers commands, can be stopped, and can be killed', async () => {
      const server = await startServer('test/servers/counter', { platform: platform.name });
      const first = await send(`${server.url}/executions`);
      expect(first.json()).toEqual({ executions: 1 });
      expect(await server.event('executed')).toBe(1);
      expect(await server.ask('executions')).toBe(1);

      server.pause();
      const second = send(`${server.url}/executions`);
      server.resume();
      expect((await second).json()).toEqual({ executions: 2 });

      await server.kill();
      expect(await server.exited).toEqual({ code: null, signal: 'SIGKILL' });
    });
  });
});
