import { randomBytes } from 'node:crypto';
import { Body, Controller, Header, HttpException, Injectable, Param, Post } from '@nestjs/common';
import {
  AtomicPhase,
  Idempotent,
  Outbox,
  OutboxHandler,
  Resumable,
  type EncryptionOptions,
} from 'nestjs-atomic-idempotency';
import { startIdempotentApp, type IdempotentAppOptions } from '../support/idempotent-app.js';
import type { Platform } from '../support/platforms.js';

export const FIRST = { id: 'first', secret: 'the-first-master-key-of-these-tests-0123456789' };
export const SECOND = { id: 'second', secret: 'another-master-key-of-these-tests-9876543210' };

/**
 * Part of everything that a client sends here, and of all that becomes of it. Of this
 * test file alone: the server's write-ahead log has what other files write as well.
 */
export const SECRET = `confidential${randomBytes(6).toString('hex')}`;
export const secret = (what: string) => ({ card: `${SECRET} ${what}` });

/** What the operation and the deliveries do next, and how often handlers ran. */
export const behaviour = {
  failures: [] as (() => never)[],
  runs: 0,
  delivered: [] as unknown[],
  hold: undefined as (() => Promise<void>) | undefined,
};

@Injectable()
export class Secrets {
  constructor(
    private readonly phases: AtomicPhase,
    private readonly outbox: Outbox,
  ) {}

  @Resumable('secrets.keep')
  async keep(input: { card: string }) {
    const note = await this.phases.local('noted', async (tx) => {
      await this.outbox.add(tx, 'notes', secret('payload'));
      return secret('local result');
    });
    await behaviour.hold?.();
    const charge = await this.phases.foreign('charged', {
      request: secret('phase request'),
      call: async () => {
        behaviour.failures.shift()?.();
        return secret('foreign result');
      },
    });
    return { input, note, charge };
  }

  @OutboxHandler('notes')
  deliver({ payload }: { payload: unknown }) {
    behaviour.failures.shift()?.();
    behaviour.delivered.push(payload);
  }
}

@Controller()
export class SecretsController {
  constructor(private readonly secrets: Secrets) {}

  @Post('plain/:name')
  @Header('location', `/cards/${SECRET}`)
  @Idempotent({ keepRequest: true })
  async plain(@Body() body: { card: string }, @Param('name') name: string) {
    behaviour.runs += 1;
    await behaviour.hold?.();
    if (name === 'declined') throw new HttpException({ reason: `${SECRET} declined` }, 402);
    return { ...body, name, run: behaviour.runs };
  }

  @Post('phased')
  @Idempotent({ phased: true })
  async phased(@Body() body: { card: string }) {
    // Nest logs what a handler throws, and that is up to the application.
    return this.secrets.keep(body).catch(() => {
      throw new HttpException('It failed.', 503);
    });
  }

  @Post('background')
  @Idempotent({ phased: true, run: 'background' })
  async background(@Body() body: { card: string }) {
    return this.secrets.keep(body);
  }
}

/** The scope is the header x-user. */
export function startSecretsApp(
  platform: Platform,
  encryption: EncryptionOptions | undefined,
  { idempotency, ...options }: IdempotentAppOptions = {},
) {
  return startIdempotentApp(platform, {
    controllers: [SecretsController],
    providers: [Secrets],
    ...options,
    idempotency: {
      scope: (request) => (request as { headers: Record<string, string> }).headers['x-user'],
      foreignCalls: 'ignore',
      ...(encryption && { encryption }),
      ...idempotency,
    },
  });
}
