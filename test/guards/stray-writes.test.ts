import { Controller, Post } from '@nestjs/common';
import { afterEach, expect, it } from '@jest/globals';
import { AtomicPhase, Idempotent } from 'nestjs-atomic-idempotency';
import { DataSource } from 'typeorm';
import { send } from '../support/http.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { recordingLogger, type RecordingLogger } from '../support/recording-logger.js';

@Controller()
class NotesController {
  constructor(
    private readonly phase: AtomicPhase,
    private readonly dataSource: DataSource,
  ) {}

  @Post('past-the-transaction')
  @Idempotent()
  stray(): Promise<void> {
    return this.phase.local('noted', async () => {
      await this.dataSource.manager.query(`INSERT INTO notes VALUES ('stray')`);
    });
  }

  @Post('in-the-transaction')
  @Idempotent()
  proper(): Promise<void> {
    return this.phase.local('noted', async (tx) => {
      await tx.query(`INSERT INTO notes VALUES ('proper')`);
      await this.dataSource.manager.query('SELECT 1');
    });
  }

  @Post('between-phases')
  @Idempotent()
  async between(): Promise<void> {
    await this.phase.local('noted', async () => undefined);
    await this.dataSource.manager.query(`INSERT INTO notes VALUES ('between')`);
  }
}

forEachPlatform((platform) => {
  let app: IdempotentApp;
  // One application at a time: Nest has one logger for the whole process.
  const start = async (foreignCalls: 'warn' | 'throw', logger: RecordingLogger | false) => {
    app = await startIdempotentApp(platform, {
      controllers: [NotesController],
      idempotency: { foreignCalls },
      logger,
    });
    await app.database.query('CREATE TABLE notes (text text)');
  };
  afterEach(() => app.close());

  it("warns of a write past the phase's transaction", async () => {
    const logger = recordingLogger();
    await start('warn', logger);
    expect((await send(`${app.url}/past-the-transaction`, { key: 'a' })).status).toBe(201);
    expect(logger.warnings).toEqual([
      expect.stringMatching(/past the transaction of phase "noted".*Use the tx/),
    ]);
  });

  it("refuses it with foreignCalls: 'throw', and nothing else", async () => {
    await start('throw', false);
    expect((await send(`${app.url}/past-the-transaction`, { key: 'b' })).status).toBe(500);
    expect(await app.database.query('SELECT * FROM notes')).toEqual([]);
    expect((await send(`${app.url}/in-the-transaction`, { key: 'c' })).status).toBe(201);
    expect((await send(`${app.url}/between-phases`, { key: 'd' })).status).toBe(201);
  });
});
