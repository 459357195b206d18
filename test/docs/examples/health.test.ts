import { TerminusModule } from '@nestjs/terminus';
import { describe, expect, it } from '@jest/globals';
import { HEALTH_NAMES, resolveHealth } from '../../../lib/operator/health.options.js';
import { parseDuration } from '../../../lib/policy/duration.js';
import { send } from '../../support/http.js';
import { startIdempotentApp } from '../../support/idempotent-app.js';
import { forEachPlatform } from '../../support/platforms.js';
import { firstCells, tableOf } from '../document.js';
import { HealthController } from './health.controller.js';

const HEALTH = 'guides/health.md';

describe('the page about health', () => {
  it('has each option of check() with its default', () => {
    expect(firstCells(HEALTH, 'option').toSorted()).toEqual(Object.keys(HEALTH_NAMES).toSorted());
    const defaults = resolveHealth({});
    for (const [name, cell] of tableOf(HEALTH, 'option')) {
      const text = /^'(.*)'$/.exec(cell!)?.[1];
      const told = text === undefined ? Number(cell) : (parseDuration(text) ?? text);
      expect([name, told]).toEqual([name, defaults[name as keyof typeof defaults]]);
    }
  });
});

forEachPlatform('The example of the page about health', (platform) => {
  it('answers', async () => {
    const app = await startIdempotentApp(platform, {
      imports: [TerminusModule],
      controllers: [HealthController],
    });
    const answer = await send(`${app.url}/health`, { method: 'GET' });
    expect(answer.status).toBe(200);
    expect(answer.json()).toMatchObject({ status: 'ok', info: { idempotency: { status: 'up' } } });
    await app.close();
  });
});
