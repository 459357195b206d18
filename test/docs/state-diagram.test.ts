import { Body, Controller, HttpException, Injectable, ParseIntPipe, Post } from '@nestjs/common';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { AtomicPhase, Idempotent, Resumable } from 'nestjs-atomic-idempotency';
import { crashAt } from '../support/crash.js';
import { send } from '../support/http.js';
import { lapse, startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { runJob } from '../support/jobs.js';
import { operatorOf } from '../support/operator.js';
import { forEachPlatform } from '../support/platforms.js';
import { passTime } from '../support/time.js';
import { arrowsOfTable } from '../../docs/.vitepress/diagrams/arrows.mjs';

let status = 201;

@Injectable()
class Operations {
  @Resumable('operate')
  async operate(): Promise<object> {
    return {};
  }
}

@Controller()
class StatesController {
  constructor(
    private readonly phase: AtomicPhase,
    private readonly operations: Operations,
  ) {}

  @Post('plain')
  @Idempotent()
  plain(): object {
    if (status >= 400) throw new HttpException('no', status);
    return {};
  }

  @Post('phased')
  @Idempotent()
  async phased(): Promise<object> {
    await this.phase.local('order_created', async () => undefined);
    return {};
  }

  @Post('doubtful')
  @Idempotent()
  doubtful(): Promise<object> {
    return this.phase.foreign('charged', { inDoubt: 'stop', call: timeOut });
  }

  @Post('repeatable')
  @Idempotent()
  repeatable(): Promise<object> {
    return this.phase.foreign('charged', { inDoubt: 'repeat', keyValidFor: 0, call: timeOut });
  }

  @Post('background')
  @Idempotent({ run: 'background' })
  background(): Promise<object> {
    return this.operations.operate();
  }

  @Post('background-gone')
  @Idempotent({ run: 'background', onExpired: 'gone' })
  backgroundGone(): Promise<object> {
    return this.operations.operate();
  }

  @Post('gone')
  @Idempotent({ onExpired: 'gone' })
  gone(): object {
    return {};
  }

  @Post('confused')
  @Idempotent({ onServerError: 'unknown' })
  confused(): never {
    throw new Error('a bug');
  }

  @Post('piped')
  @Idempotent()
  piped(@Body('count', ParseIntPipe) count: number): object {
    return { count };
  }
}

function timeOut(): Promise<object> {
  return Promise.reject(new Error('time-out'));
}

forEachPlatform('The state diagram', (platform) => {
  let app: IdempotentApp;
  const post = (route: string, key: string) => send(`${app.url}/${route}`, { key });

  beforeAll(async () => {
    app = await startIdempotentApp(platform, {
      controllers: [StatesController],
      providers: [Operations],
      logger: false,
    });
    // The database itself notes every change of state, whoever makes it.
    await app.database.query(`
      CREATE TABLE arrows (arrow text UNIQUE);
      CREATE FUNCTION note_arrow() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF TG_OP = 'UPDATE' AND NEW.status = OLD.status AND NEW.attempt = OLD.attempt THEN
          RETURN NULL;
        END IF;
        INSERT INTO arrows VALUES (
          CASE WHEN TG_OP = 'INSERT' THEN '[*]' ELSE OLD.status END || ' --> ' ||
          CASE WHEN TG_OP = 'DELETE' THEN '[*]' ELSE NEW.status END
        ) ON CONFLICT DO NOTHING;
        RETURN NULL;
      END $$;
      CREATE TRIGGER note_arrow AFTER INSERT OR UPDATE OR DELETE ON idempotency_keys
        FOR EACH ROW EXECUTE FUNCTION note_arrow();
    `);
  });
  afterAll(() => app.close());

  it('has every change of state that the database sees, and no other', async () => {
    status = 500;
    await post('plain', 'fails-first');
    status = 201;
    await post('plain', 'fails-first');

    await crashAt('order_created:after_commit', `${app.url}/phased`, { key: 'crashes' });
    await lapse(app.database, 'crashes');
    await post('phased', 'crashes');

    await post('doubtful', 'in-doubt');
    await post('repeatable', 'forgotten');
    await post('repeatable', 'forgotten');
    await post('piped', 'never-began');
    await post('background', 'parked');
    await post('background-gone', 'parked-gone');
    await post('background', 'rendered');
    await runJob(app, 'completer');
    await post('background', 'rendered');
    await post('background', 'never-claimed');

    const operator = operatorOf(app);
    const [doubt] = (await operator.find({ key: 'in-doubt' })).keys;
    await operator.resolve(doubt!.inDoubt!.effectKey, { outcome: 'not_executed' }, 'a test');
    await post('confused', 'confused');
    const [confused] = (await operator.find({ key: 'confused' })).keys;
    const answer = { status: 201 };
    await operator.resolveKey(confused!.id, { outcome: 'completed', answer }, 'a test');

    await post('gone', 'gone');
    status = 500;
    await post('plain', 'fails-for-good');
    status = 201;
    const aged = ['parked', 'parked-gone', 'never-claimed', 'gone', 'fails-for-good'];
    // Past retention, past the last chance of what waits, past a tombstone's time.
    for (let days = 1; days <= 3; days++) {
      for (const key of aged) await passTime(app.database, key, '25 hours');
      await runJob(app, 'reaper');
    }

    await app.database.query(
      `UPDATE idempotency_keys SET expires_at = now() WHERE key = 'fails-first'`,
    );
    await post('plain', 'fails-first');

    const seen = await app.database.query<{ arrow: string }>('SELECT arrow FROM arrows');
    const drawn = arrowsOfTable().map(({ from, to }) => `${from} --> ${to}`);
    expect(seen.map(({ arrow }) => arrow).toSorted()).toEqual(drawn.toSorted());
  });
});
