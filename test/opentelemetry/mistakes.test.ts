import { Test } from '@nestjs/testing';
import { describe, expect, it } from '@jest/globals';
import {
  IdempotencyTelemetryModule,
  type IdempotencyTelemetryOptions,
} from 'nestjs-atomic-idempotency/opentelemetry';
import { IdempotencyModule } from 'nestjs-atomic-idempotency';
import { DuplicatesPerScope } from '../../lib/opentelemetry/duplicates-per-scope.js';
import { bootFailure } from '../module/boot-failure.js';
import { forEachPlatform } from '../support/platforms.js';
import { startObservedApp } from '../telemetry/observed-app.js';

describe('The telemetry module', () => {
  it.each<[object, RegExp]>([
    [{ metric: true }, /metric.*Did you mean metrics|unknown option.*metric/i],
    [{ metrics: 'yes' }, /metrics is 'yes'. Use true or false/],
    [{ metrics: false, traces: false }, /would do nothing/],
    [{ metrics: false, duplicatesPerScope: 3 }, /metrics is off/],
    [{ gauges: 'often' }, /gauges is 'often'/],
    [{ gauges: { interval: 0 } }, /gauges.interval is 0/],
    [{ gauges: { intervall: 1 } }, /intervall/],
    [{ duplicatesPerScope: 0.5 }, /duplicatesPerScope is 0.5/],
    [{ describeActor: 'team' }, /describeActor is 'team'/],
  ])('refuses %p', (options, message) => {
    expect(() =>
      IdempotencyTelemetryModule.forRoot(options as IdempotencyTelemetryOptions),
    ).toThrow(message);
  });

  it('refuses to start without the IdempotencyModule', async () => {
    const testing = await Test.createTestingModule({
      imports: [IdempotencyTelemetryModule.forRoot()],
    }).compile();
    await expect(testing.init()).rejects.toThrow(/Import IdempotencyModule.forRoot\(\) as well/);
  });
});

forEachPlatform('A second telemetry module', (platform) => {
  it('a second telemetry module in the process does not start, and the first one goes on', async () => {
    const app = await startObservedApp(platform, {}, [
      IdempotencyTelemetryModule.forRoot({ metrics: false }),
    ]);
    const error = await bootFailure({
      database: app.database,
      imports: [
        IdempotencyModule.forRoot({ scope: 'global', maintenance: false }),
        IdempotencyTelemetryModule.forRoot(),
      ],
    });
    expect(error.message).toMatch(/IdempotencyTelemetryModule is imported twice/);
    await app.close();
  });
});

describe('The count of duplicates per scope', () => {
  it('has room for a bounded number of scopes, and keeps the ones with the most', () => {
    const duplicates = new DuplicatesPerScope(2);
    for (let round = 0; round < 500; round++) {
      duplicates.add('often');
      if (round % 2 === 0) duplicates.add('less often');
      duplicates.add(`once ${round}`);
    }
    expect(duplicates.top.map(([scope]) => scope)).toEqual(['often', 'less often']);
    expect(duplicates.top[0]![1]).toBe(500);
  });
});
