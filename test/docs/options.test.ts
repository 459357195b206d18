import { describe, expect, it } from '@jest/globals';
import { MAINTENANCE_NAMES } from '../../lib/background/maintenance.options.js';
import { resolveMaintenance } from '../../lib/background/maintenance.settings.js';
import { IdempotencySettings } from '../../lib/idempotency.settings.js';
import {
  BREAKER_NAMES,
  EXTRA_NAMES,
  OPTION_NAMES,
  REPLAY_CACHE_NAMES,
} from '../../lib/option-names.js';
import { LIMIT_NAMES } from '../../lib/limits/limits.options.js';
import { OPERATOR_PAGE_NAMES } from '../../lib/operator/page/page.options.js';
import { OUTBOX_NAMES } from '../../lib/outbox/outbox.options.js';
import { parseDuration } from '../../lib/policy/duration.js';
import { POLICY_NAMES } from '../../lib/policy/policy.js';
import { resolvePolicy } from '../../lib/policy/resolve-policy.js';
import { membersOf } from './declared.js';
import { firstCells, sorted, tableOf } from './document.js';

const OPTIONS = 'reference/options.md';
const POLICIES = 'reference/policies.md';

/** The default that a row tells, as the library keeps it: times are milliseconds. */
function told(cell: string): unknown {
  const text = /^'(.*)'$/.exec(cell)?.[1];
  if (text !== undefined) return parseDuration(text) ?? text;
  if (cell === 'none') return undefined;
  return JSON.parse(cell) as unknown;
}

describe('the page of options', () => {
  it('has a row for each option of the module, and no other', () => {
    // The module's scope is required and has a row of its own; that of a route is a policy.
    const own = (name: string) => name === 'scope' || !(name in POLICY_NAMES);
    const names = Object.keys(OPTION_NAMES).filter(own);
    expect(firstCells(OPTIONS, 'option').toSorted()).toEqual(names.toSorted());
    expect(firstCells(OPTIONS, 'option beside the factory').toSorted()).toEqual(
      Object.keys(EXTRA_NAMES).toSorted(),
    );
    expect(firstCells(OPTIONS, 'member of operatorPage').toSorted()).toEqual(
      Object.keys(OPERATOR_PAGE_NAMES).toSorted(),
    );
    expect(firstCells(OPTIONS, 'member of replayCache').toSorted()).toEqual(
      Object.keys(REPLAY_CACHE_NAMES).toSorted(),
    );
    expect(firstCells(OPTIONS, 'member of limits').toSorted()).toEqual(
      Object.keys(LIMIT_NAMES).toSorted(),
    );
    expect(firstCells(OPTIONS, 'member of circuitBreaker').toSorted()).toEqual(
      Object.keys(BREAKER_NAMES).toSorted(),
    );
    expect(firstCells(OPTIONS, 'member of outbox').toSorted()).toEqual(
      Object.keys(OUTBOX_NAMES).toSorted(),
    );
    const job = { ...MAINTENANCE_NAMES.completer };
    expect(firstCells(OPTIONS, 'member of a job').toSorted()).toEqual(Object.keys(job).toSorted());
  });

  it('tells the defaults that hold', () => {
    const settings = new IdempotencySettings({ scope: 'global' });
    const checked = new Set([
      'storeTimeout',
      'shutdownTimeout',
      'preparedStatements',
      'batching',
      'openapi',
      'clientRetries',
    ]);
    for (const [name, cell] of tableOf(OPTIONS, 'option')) {
      if (!['dialect', 'header', 'specification', ...checked].includes(name!)) continue;
      expect([name, told(cell!)]).toEqual([name, settings[name as keyof IdempotencySettings]]);
    }
    for (const [name, cell] of tableOf(OPTIONS, 'member of replayCache')) {
      const { replayCache } = settings;
      expect([name, told(cell!)]).toEqual([
        name,
        replayCache && replayCache[name as keyof typeof replayCache],
      ]);
    }
    for (const [name, cell] of tableOf(OPTIONS, 'member of circuitBreaker')) {
      const { circuitBreaker } = settings;
      expect([name, told(cell!)]).toEqual([
        name,
        circuitBreaker && circuitBreaker[name as keyof typeof circuitBreaker],
      ]);
    }
    for (const [name, cell] of tableOf(OPTIONS, 'member of outbox')) {
      expect([name, told(cell!)]).toEqual([
        name,
        settings.outbox[name as keyof typeof settings.outbox],
      ]);
    }
  });

  it('tells the pace of each job', () => {
    const jobs = resolveMaintenance('docs', {}, parseDuration('30s'));
    const rows = Object.entries(jobs).map(
      ([name, { interval, maxInterval, batch, maxAttempts }]) => [
        name,
        interval,
        maxInterval,
        batch,
        maxAttempts === 0 ? undefined : maxAttempts,
      ],
    );
    const page = tableOf(OPTIONS, 'job').map(([name, ...cells]) => [
      name,
      ...cells.slice(0, 4).map(told),
    ]);
    expect(sorted(page)).toEqual(sorted(rows));
  });
});

describe('the page of policies', () => {
  it('has a row for each policy, and no other', () => {
    expect(firstCells(POLICIES, 'policy').toSorted()).toEqual(Object.keys(POLICY_NAMES).toSorted());
  });

  it('tells the defaults that hold', () => {
    const policy = resolvePolicy('ietf', [], 'docs');
    for (const [name, cell] of tableOf(POLICIES, 'policy')) {
      // Functions are told in words, and so is what depends on the environment.
      if (['isFinal', 'fingerprint', 'hygiene'].includes(name!)) continue;
      expect([name, told(cell!)]).toEqual([name, policy[name as keyof typeof policy]]);
    }
  });
});

describe('Options in the docs', () => {
  it('the page of phases has a row for each member of a foreign phase', () => {
    const members = membersOf('lib/phases/foreign-phase.ts', 'ForeignPhase');
    expect(firstCells('concepts/phases.md', 'member').toSorted()).toEqual(members.toSorted());
  });
});
