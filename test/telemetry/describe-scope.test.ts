import { afterEach, describe, expect, it } from '@jest/globals';
import type { DescribeScope } from '../../lib/telemetry/key-labels.js';
import { describeScopesWith, keyHash, scopeLabel } from '../../lib/telemetry/key-labels.js';
import { IdempotencySettings } from '../../lib/idempotency.settings.js';
import { bootFailure } from '../module/boot-failure.js';
import { forEachPlatform } from '../support/platforms.js';
import { post, startObservedApp } from './observed-app.js';
import { Heard } from './heard.js';

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});
const use = (describeScope: DescribeScope) => {
  const end = describeScopesWith(describeScope);
  if (end) ends.push(end);
  return end !== undefined;
};

describe('describeScope', () => {
  it('shows a scope as a short hash, and the scope of all as what it is', () => {
    expect(scopeLabel('customer-1')).toMatch(/^[0-9a-f]{8}$/);
    expect(scopeLabel('customer-1')).not.toBe(scopeLabel('customer-2'));
    expect(scopeLabel('')).toBe('global');
  });

  it('tells keys apart by scope, endpoint and key', () => {
    const name = { scope: 'a', endpoint: 'b', key: 'c' };
    const others = [{ scope: 'x' }, { endpoint: 'x' }, { key: 'x' }].map((x) => ({
      ...name,
      ...x,
    }));
    expect(new Set([name, ...others].map(keyHash)).size).toBe(4);
  });

  it('falls back to the hash where describeScope fails or returns no text', () => {
    const hash = scopeLabel('customer-1');
    use((scope) => {
      if (scope === 'customer-1') throw new Error('a bug');
      return 7 as never;
    });
    expect(scopeLabel('customer-1')).toBe(hash);
    expect(scopeLabel('customer-2')).toMatch(/^[0-9a-f]{8}$/);
  });

  it('has one description for the process: another function is refused, the same one is not', () => {
    const plan = () => 'a plan';
    expect([use(plan), use(plan), use(() => 'another')]).toEqual([true, true, false]);
  });

  it('a describeScope that is no function does not start', () => {
    const options = { scope: 'global', describeScope: 'plan' as never } as const;
    expect(() => new IdempotencySettings(options)).toThrow(
      /describeScope is 'plan'\. Use a function/,
    );
  });
});

forEachPlatform('Scopes in logs and events', (platform) => {
  it('the option says what events and logs show', async () => {
    const app = await startObservedApp(platform, {
      describeScope: (scope) => `plan of ${scope.length}`,
    });
    const heard = new Heard();
    await post(app, 'orders', 'key');
    await post(app, 'orders', 'key', { text: 'another' });
    heard.end();
    expect(heard.of('reserved')).toMatchObject([{ scope: 'plan of 20' }]);
    expect(app.logs).toContainEqual(
      expect.stringMatching(/^PhasesController\.run \(scope plan of 20\): a request was refused/),
    );
    await app.close();
    expect(scopeLabel('customer')).toMatch(/^[0-9a-f]{8}$/);
  });

  it('another module of the process with another description does not start', async () => {
    const app = await startObservedApp(platform, { describeScope: () => 'one' });
    const error = await bootFailure({
      database: app.database,
      idempotency: { describeScope: () => 'two' },
    });
    expect(error.message).toMatch(
      /describeScope: another IdempotencyModule of this process has another one/,
    );
    expect(scopeLabel('customer')).toBe('one');
    await app.close();
  });
});
