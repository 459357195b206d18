import { Controller, Post } from '@nestjs/common';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { AtomicPhase, Idempotent } from 'nestjs-atomic-idempotency';
import { send } from '../support/http.js';
import { keyRow, startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';

let seen: (number | undefined)[];

@Controller()
class StubbornController {
  constructor(private readonly phases: AtomicPhase) {}

  @Post('third-time-lucky')
  @Idempotent()
  create() {
    seen.push(this.phases.current?.attempt);
    if (seen.length < 3) throw new Error('not yet');
    return { attempts: seen };
  }
}

forEachPlatform('The attempts of a key', (platform) => {
  let app: IdempotentApp;
  beforeAll(async () => {
    app = await startIdempotentApp(platform, { controllers: [StubbornController], logger: false });
  });
  afterAll(() => app.close());
  beforeEach(() => {
    seen = [];
  });

  it('are numbered from 1, and no refused or replayed request counts', async () => {
    const ask = (body: unknown) => send(`${app.url}/third-time-lucky`, { key: 'lucky', body });
    const owners = new Set<string>();
    for (const [attempt, status] of [
      [1, 500],
      [2, 500],
      [3, 201],
    ] as const) {
      expect((await ask({ amount: 1 })).status).toBe(status);
      expect((await ask({ amount: 2 })).status).toBe(422);
      const row = await keyRow(app.database, 'lucky');
      expect(row.attempt).toBe(attempt);
      owners.add(row.owner);
    }
    const replay = await ask({ amount: 1 });
    expect(replay.json()).toEqual({ attempts: [1, 2, 3] });
    expect((await keyRow(app.database, 'lucky')).attempt).toBe(3);
    // Each attempt is an owner of its own, or a stalled one could pass for its successor.
    expect(owners.size).toBe(3);
  });
});
