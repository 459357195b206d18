import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { IdempotencyConfigurationError, IdempotencyModule } from 'nestjs-atomic-idempotency';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { bootFailure } from './boot-failure.js';

describe('Wrong options', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());

  /** Every message names the option first, and then what to write instead. */
  async function refuses(idempotency: Record<string, unknown>, ...fragments: string[]) {
    const error = await bootFailure({ database, idempotency });
    expect(error).toBeInstanceOf(IdempotencyConfigurationError);
    for (const fragment of fragments) expect(error.message).toContain(fragment);
  }

  it.each([[undefined], [''], ['tenant'], [42], [{}]])('stop the boot: scope %p', async (scope) => {
    await refuses({ scope }, 'scope is missing', 'scope: (request) =>', "scope: 'global'");
  });

  it('stop the boot: a factory that returns nothing', async () => {
    const error = await bootFailure({
      database,
      imports: [IdempotencyModule.forRootAsync({ useFactory: () => undefined as never })],
    });
    expect(error.message).toContain('scope is missing');
  });

  it.each(['retention', 'lease', 'waitFor', 'maxRunTime', 'storeTimeout', 'shutdownTimeout'])(
    'stop the boot: a %s that is not a duration',
    async (option) => {
      const cure = "a number with ms, s, m, h or d, such as '30s'";
      await refuses({ [option]: 'soon' }, `${option} is 'soon'`, 'not a duration', cure);
    },
  );

  it.each(['', '10', 's', '10 parsecs', '-1s', '1e3s', -1, NaN, Infinity, null])(
    'stop the boot: the duration %p',
    async (duration) => {
      await refuses({ retention: duration }, 'retention is', 'not a duration');
    },
  );

  it('stop the boot: a lease that is longer than the retention', async () => {
    const message = 'Shorten lease or lengthen retention';
    await refuses({ lease: '2m', retention: '1m' }, 'lease (120000 ms)', message);
    await refuses({ retention: 0 }, 'retention (0 ms)', message);
  });

  it('stop the boot: a lease that leaves no time to renew it', async () => {
    await refuses({ lease: 99 }, 'lease is 99 ms', 'Use at least 100 ms');
  });

  it('stop the boot: a lease that is longer than maxRunTime', async () => {
    await refuses(
      { lease: '2m', maxRunTime: '1m' },
      'maxRunTime (60000 ms)',
      'Lengthen maxRunTime',
    );
  });

  it.each([true, 1, 'yes', null])('stop the boot: the replayCache %p', async (replayCache) => {
    await refuses({ replayCache }, 'replayCache is', 'Use { ttl, maxBytes }');
  });

  it('stop the boot: a replayCache without sizes', async () => {
    await refuses({ replayCache: { ttl: 'soon' } }, "replayCache.ttl is 'soon'", 'not a duration');
    await refuses({ replayCache: { maxBytes: -1 } }, 'replayCache.maxBytes is -1', 'Use a whole');
  });

  it('stop the boot: limits and a circuitBreaker that cannot be meant', async () => {
    await refuses({ limits: { newKeysPerSecond: -1 } }, 'limits.newKeysPerSecond is -1', 'above 0');
    await refuses({ circuitBreaker: { failures: 0 } }, 'circuitBreaker.failures is 0', 'from 1');
  });

  it('stop the boot: preparedStatements that is not a boolean', async () => {
    await refuses({ preparedStatements: 'no' }, "preparedStatements is 'no'", 'Use true or false');
  });

  it('stop the boot: a waitFor of more than 55 seconds', async () => {
    await refuses({ waitFor: '55001ms' }, 'waitFor is 55001 ms', "Use at most '55s'");
  });

  it('stop the boot: a retention that no date can hold', async () => {
    await refuses({ retention: Number.MAX_SAFE_INTEGER }, 'retention is', "Use 'forever'");
  });

  it.each(['storeTimeout', 'shutdownTimeout', 'lease'])(
    'stop the boot: a %s that no timer can wait for',
    async (option) => {
      const patience = { retention: 'forever', maxRunTime: '90d' };
      await refuses({ ...patience, [option]: '30d' }, `${option} is '30d'`, "Use at most '24d'");
    },
  );

  it('stop the boot: a lease that is shorter than a slow statement', async () => {
    const cure = 'or shorten storeTimeout';
    await refuses({ lease: '4s' }, 'lease (4000 ms) is shorter than storeTimeout (5000 ms)', cure);
    await refuses({ storeTimeout: '1m' }, 'lease (30000 ms) is shorter', cure);
    await refuses({ outbox: { lease: '1s' } }, 'outbox.lease (1000 ms) is shorter', cure);
  });

  it('stop the boot: a storeTimeout that is too short for any statement', async () => {
    await refuses({ storeTimeout: 0 }, 'storeTimeout is 0', "such as '5s'");
  });

  it.each([
    ['keyspace', "'scope', 'endpoint'"],
    ['onInProgress', "'reject', 'accept', 'wait'"],
    ['onMismatch', "'reject', 'replay'"],
    ['onAbandoned', "'resume', 'unknown'"],
    ['onServerError', "'retry', 'store', 'unknown'"],
    ['onExpired', "'forget', 'gone'"],
    ['staleKeys', "'accept', 'reject'"],
    ['dialect', "'ietf' or 'stripe', or a function"],
    ['foreignCalls', "'ignore', 'warn' or 'throw'"],
  ])('stop the boot: a %s that does not exist', async (option, choices) => {
    await refuses({ [option]: 'sometimes' }, `${option} is 'sometimes'`, choices);
    await refuses({ [option]: null }, `${option} is null`, choices);
  });

  it.each([null, 7, '', 'docs/idempotency', 'ftp://example.com/', 'https://example.com/#keys'])(
    'stop the boot: a specification that is not the address of a page: %p',
    async (specification) => {
      await refuses({ specification }, 'specification is', 'https://api.example.com');
    },
  );

  it.each([
    ['required', 'yes', 'Use a boolean'],
    ['isFinal', true, 'Use a function'],
    ['fingerprint', 'body', 'Use a function'],
    ['maxResponseBytes', '1MB', 'Use a whole number of bytes'],
    ['maxResponseBytes', -1, 'Use a whole number of bytes'],
    ['maxResponseBytes', 1.5, 'Use a whole number of bytes'],
  ])('stop the boot: %s: %p', async (option, value, cure) => {
    await refuses({ [option]: value }, `${option} is`, cure);
  });

  it.each(['', 'Idempotency Key', 'Idempotency-Key:', 'Schlüssel', null, 7])(
    'stop the boot: header %p',
    async (header) => {
      await refuses({ header }, 'header is', "such as 'Idempotency-Key'");
    },
  );

  it.each([
    'set-cookie',
    'Set-Cookie',
    'connection',
    'Keep-Alive',
    'TE',
    'Trailer',
    'Transfer-Encoding',
    'upgrade',
    'Proxy-Authenticate',
    'Content-Length',
    'DATE',
    'Access-Control-Allow-Origin',
    'Idempotent-Replayed',
  ])('stop the boot: replay header %s', async (name) => {
    const replayHeaders = ['x-total', name];
    await refuses({ replayHeaders }, `replayHeaders names ${name}`, 'must never', 'Remove it');
  });

  it.each([['x-total'], [['x total']], [['']], [{ 'x-total': true }]])(
    'stop the boot: replayHeaders %j',
    async (replayHeaders) => {
      await refuses({ replayHeaders }, 'replayHeaders is', 'Use a list of header names');
    },
  );
});
