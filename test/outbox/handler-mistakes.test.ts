import { Injectable, Scope, type Type } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  IdempotencyModule,
  OutboxHandler,
  type IdempotencyModuleOptions,
} from 'nestjs-atomic-idempotency';
import { bootFailure } from '../module/boot-failure.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';

@Injectable()
class Mails {
  @OutboxHandler('mails')
  send() {
    return undefined;
  }
}

@Injectable()
class MoreMails {
  @OutboxHandler('mails')
  sendMore() {
    return undefined;
  }
}

@Injectable()
class Nameless {
  @OutboxHandler('')
  send() {
    return undefined;
  }
}

@Injectable({ scope: Scope.REQUEST })
class RequestMails extends Mails {}

describe('Wrong handlers and outbox options', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());

  class HandlersModule {}
  const failure = async (
    providers: Type[],
    options: Partial<IdempotencyModuleOptions> = {},
  ): Promise<string> => {
    const error = await bootFailure({
      database,
      imports: [
        IdempotencyModule.forRoot({ scope: 'global', ...options }),
        { module: HandlersModule, providers },
      ],
    });
    expect(error.name).toBe('IdempotencyConfigurationError');
    return error.message;
  };

  it('stop the boot: two handlers of one topic', async () => {
    expect(await failure([Mails, MoreMails])).toMatch(
      /@OutboxHandler\("mails"\) of MoreMails\.sendMore: another method handles this topic/,
    );
  });

  it('stop the boot: a handler of a topic that the transport delivers', async () => {
    const transport = { topics: ['mails'], deliver: async () => undefined };
    expect(await failure([Mails], { outbox: { transport } })).toMatch(
      /Mails\.send: the outbox's transport delivers this topic already/,
    );
  });

  it('stop the boot: a handler without a topic', async () => {
    expect(await failure([Nameless])).toMatch(
      /Nameless\.send: the topic has to be a non-empty string/,
    );
  });

  it('stop the boot: a handler that exists only during a request', async () => {
    expect(await failure([RequestMails])).toMatch(/RequestMails\.send is called when there is no/);
  });

  it.each<[string, object, RegExp]>([
    ['transport', { transport: {} }, /outbox\.transport .* no method deliver\(\)/],
    ['lease', { lease: '50ms' }, /outbox\.lease is 50 ms/],
    ['lease', { lease: 'long' }, /outbox\.lease is 'long', which is not a duration/],
    ['maxRunTime', { maxRunTime: 0 }, /outbox\.maxRunTime is 0/],
    ['maxAttempts', { maxAttempts: 0 }, /outbox\.maxAttempts is 0/],
  ])('stop the boot: outbox.%s: %j', async (_, outbox, why) => {
    expect(await failure([], { outbox })).toMatch(why);
  });

  it('stop the boot: a pause that shrinks', async () => {
    const maintenance = { outbox: { interval: '10s', maxInterval: '1s' } };
    expect(await failure([], { maintenance })).toMatch(
      /maintenance\.outbox\.maxInterval \(1000 ms\) is shorter than interval \(10000 ms\)/,
    );
  });
});
