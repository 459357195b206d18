import { Controller, Post } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { AtomicPhase, Idempotent } from 'nestjs-atomic-idempotency';
import { FAULT_STEPS } from 'nestjs-atomic-idempotency/testing';
import { crashAt } from '../support/crash.js';
import { send } from '../support/http.js';
import {
  keyRow,
  lapse,
  startIdempotentApp,
  type IdempotentApp,
} from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { tableOf } from './document.js';

@Controller()
class OrdersController {
  constructor(private readonly phase: AtomicPhase) {}

  @Post('stop')
  @Idempotent({ phased: true })
  stop(): Promise<object> {
    return this.order('stop');
  }

  @Post('repeat')
  @Idempotent({ phased: true })
  repeat(): Promise<object> {
    return this.order('repeat');
  }

  private async order(inDoubt: 'stop' | 'repeat'): Promise<object> {
    await this.phase.local('order_created', async () => undefined);
    await this.phase.foreign('charge_created', { inDoubt, call: async () => undefined });
    return {};
  }
}

const table = tableOf('concepts/phases.md', 'crash at');

describe('The table of crash points', () => {
  it('names every step', () => {
    const steps = table.map(([point]) => point!.replace(/^(order|charge)_created:/, ''));
    expect(new Set(steps)).toEqual(new Set(FAULT_STEPS));
  });
});

forEachPlatform('The table of crash points', (platform) => {
  let app: IdempotentApp;
  beforeAll(async () => {
    app = await startIdempotentApp(platform, { controllers: [OrdersController], logger: false });
  });
  afterAll(() => app.close());

  describe.each(table)(
    'for a crash at %s',
    (point, status, recoveryPoint, charge, stop, repeat) => {
      it.each([
        ['stop', stop],
        ['repeat', repeat],
      ])('is right with inDoubt: %s', async (inDoubt, retry) => {
        const key = `${point}-${inDoubt}`;
        const url = `${app.url}/${inDoubt}`;
        await crashAt(point!, url, { key });

        const row = await keyRow(app.database, key);
        expect(row).toMatchObject({ status, recovery_point: recoveryPoint });
        const [phase] = await app.database.query(
          `SELECT state FROM idempotency_phases
         WHERE key_id = (SELECT id FROM idempotency_keys WHERE key = $1) AND name = 'charge_created'`,
          [key],
        );
        expect(phase?.state ?? 'none').toBe(charge);

        await lapse(app.database, key);
        expect(whatHappened(await send(url, { key }))).toBe(retry);
      });
    },
  );
});

function whatHappened(answer: Awaited<ReturnType<typeof send>>): string {
  if (answer.status === 409) return answer.json<{ code: string }>().code.replace('outcome_', '');
  return answer.headers.has('idempotent-replayed') ? 'replays' : 'resumes';
}
