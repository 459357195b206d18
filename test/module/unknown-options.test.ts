import { Controller, Post, type Type } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  IdempotencyConfigurationError,
  IdempotencyModule,
  Idempotent,
} from 'nestjs-atomic-idempotency';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { startIdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { bootFailure, type Boot } from './boot-failure.js';

function withPolicyOnHandler(policy: object): Type {
  @Controller()
  class Orders {
    @Post()
    @Idempotent(policy)
    create() {
      return {};
    }
  }
  return Orders;
}

function withPolicyOnClass(policy: object): Type {
  @Controller()
  @Idempotent(policy)
  class Orders {
    @Post()
    create() {
      return {};
    }
  }
  return Orders;
}

const fromFactory = (options: object) =>
  IdempotencyModule.forRootAsync({ useFactory: () => ({ scope: 'global', ...options }) });

const besideFactory = (extras: object) => ({
  useFactory: () => ({ scope: 'global' as const }),
  ...extras,
});

const mistakes: [string, () => Omit<Boot, 'database'>, string[]][] = [
  ['retension', () => ({ idempotency: { retension: '1d' } }), ['Did you mean retention?']],
  ['requird', () => ({ idempotency: { requird: false } }), ['Did you mean required?']],
  ['Lease', () => ({ idempotency: { Lease: '1m' } }), ['Did you mean lease?']],
  ['storeTimeOut', () => ({ idempotency: { storeTimeOut: 1 } }), ['Did you mean storeTimeout?']],
  ['statusPaht', () => ({ idempotency: { statusPaht: 'x' } }), ['Did you mean statusPath?']],
  ['retries', () => ({ idempotency: { retries: 3 } }), ['The options are required, key,']],
  [
    'maintenance.sweper',
    () => ({ idempotency: { maintenance: { sweper: false } } }),
    ['Did you mean sweeper?'],
  ],
  [
    'maintenance.reaper.intervall',
    () => ({ idempotency: { maintenance: { reaper: { intervall: '1m' } } } }),
    ['Did you mean interval?'],
  ],
  [
    'maintenance.sweeper.maxAttempts',
    () => ({ idempotency: { maintenance: { sweeper: { maxAttempts: 3 } } } }),
    ['The options are interval, maxInterval, batch.'],
  ],
  [
    'outbox.transports',
    () => ({ idempotency: { outbox: { transports: {} } } }),
    ['Did you mean transport?'],
  ],
  [
    'replayCache.maxByte',
    () => ({ idempotency: { replayCache: { maxByte: 1 } } }),
    ['Did you mean maxBytes?'],
  ],
  [
    'keyspce',
    () => ({ imports: [fromFactory({ keyspce: 'endpoint' })] }),
    ['Did you mean keyspace?'],
  ],
  [
    'datasource',
    () => ({
      imports: [IdempotencyModule.forRootAsync(besideFactory({ datasource: 'ledger' }))],
    }),
    ['forRootAsync options', 'Did you mean dataSource?'],
  ],
  [
    'retention',
    () => ({ imports: [IdempotencyModule.forRootAsync(besideFactory({ retention: '1d' }))] }),
    ['forRootAsync options', 'It belongs into what the factory returns.'],
  ],
  [
    'onMissmatch',
    () => ({ controllers: [withPolicyOnHandler({ onMissmatch: 'replay' })] }),
    ['@Idempotent() of Orders.create', 'Did you mean onMismatch?'],
  ],
  [
    'waitfor',
    () => ({ controllers: [withPolicyOnClass({ waitfor: '1s' })] }),
    ['@Idempotent() of Orders.create', 'Did you mean waitFor?'],
  ],
  [
    'storeTimeout',
    () => ({ controllers: [withPolicyOnHandler({ storeTimeout: '5s' } as object)] }),
    ['@Idempotent() of Orders.create', 'It belongs to the module'],
  ],
];

describe('Unknown options', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());

  it.each(mistakes)(
    'stop the boot, and the error names the nearest option: %s',
    async (option, boot, words) => {
      const error = await failureOf(() => bootFailure({ database, ...boot() }));
      expect(error).toBeInstanceOf(IdempotencyConfigurationError);
      expect(error.message).toContain(`there is no option ${option} here`);
      for (const word of words) expect(error.message).toContain(word);
    },
  );
});

/** `forRootAsync()` itself throws, when the module is declared. */
async function failureOf(boot: () => Promise<Error>): Promise<Error> {
  try {
    return await boot();
  } catch (error) {
    return error as Error;
  }
}

forEachPlatform('Unknown options without a value', (platform) => {
  it('are ignored', async () => {
    const app = await startIdempotentApp(platform, {
      idempotency: { retension: undefined, maintenance: { sweper: undefined } } as object,
      controllers: [withPolicyOnHandler({ requird: undefined })],
    });
    expect(app.url).toContain('http');
    await app.close();
  });
});
