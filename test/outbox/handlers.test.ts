import { Controller, Injectable } from '@nestjs/common';
import { defer } from 'rxjs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { OutboxHandler, type DeliveredMessage } from 'nestjs-atomic-idempotency';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { message } from './messages.js';
import { startOutboxApp } from './outbox-app.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

@Injectable()
class Mails {
  readonly sent: string[] = [];

  @OutboxHandler('mails')
  send({ payload }: DeliveredMessage<{ to: string }>) {
    this.sent.push(payload.to);
  }
}

describe('A message handler', () => {
  it('is found at boot under any token, and called with its class as this', async () => {
    const mails = new Mails();
    const app = await startOutboxApp({
      database,
      providers: [
        { provide: Mails, useValue: mails },
        { provide: 'alias', useExisting: Mails },
      ],
    });
    await app.add('mails', { to: 'ada' });
    expect(await app.deliver()).toBe(1);
    expect(mails.sent).toEqual(['ada']);
  });

  it('may be in a controller', async () => {
    const received: unknown[] = [];

    @Controller()
    class MailsController {
      @OutboxHandler('mails')
      send(sent: DeliveredMessage) {
        received.push(sent.payload);
      }
    }
    const app = await startOutboxApp({ database, controllers: [MailsController] });
    await app.add('mails', 'x');
    await app.deliver();
    expect(received).toEqual(['x']);
  });

  it('may be inherited', async () => {
    @Injectable()
    class LoudMails extends Mails {}

    const app = await startOutboxApp({ database, providers: [LoudMails] });
    await app.add('mails', { to: 'ada' });
    expect(await app.deliver()).toBe(1);
  });

  it('gets every detail of its message', async () => {
    let got: DeliveredMessage | undefined;
    const app = await startOutboxApp({
      database,
      handlers: { mails: (sent) => void (got = sent) },
    });
    const id = await app.add('mails', { to: 'ada' }, { orderingKey: 'ada' });
    const row = await message(app.database, id);
    await app.deliver();
    expect(got).toEqual({
      id,
      topic: 'mails',
      payload: { to: 'ada' },
      orderingKey: 'ada',
      attempt: 1,
      createdAt: row!.created_at,
      signal: expect.any(AbortSignal),
    });
    expect(got!.signal.aborted).toBe(false);
  });

  it('may return an Observable, which is waited for', async () => {
    let sent = 0;
    const app = await startOutboxApp({
      database,
      handlers: { mails: () => defer(async () => void (sent += 1)) },
    });
    await app.add('mails');
    await app.deliver();
    expect(sent).toBe(1);
  });
});
