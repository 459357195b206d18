import { beforeAll, describe, expect, it } from '@jest/globals';
import {
  verifyDelivery,
  VerificationError,
  type DeliveryOptions,
  type DeliveryProblemCode,
} from 'nestjs-atomic-idempotency/testing';
import type { DataSource, EntityManager } from 'typeorm';
import { startOutboxApp, type Handler, type OutboxApp } from '../outbox/outbox-app.js';

/** What the mail service was asked for, and what it made of it: one mail for each key. */
let mails: string[] = [];
const mailOnce = (key: string) => void (mails.includes(key) || mails.push(key));

let dataSource: DataSource;
/** Ends what hangs. */
let letGo: (() => void) | undefined;
const query = (sql: string, values: unknown[] = []): Promise<any[]> =>
  dataSource.query(sql, values);
const pause = () => new Promise((resolve) => setImmediate(resolve));

/** Each makes one mistake, which the message names. */
const wrong: Record<string, [handler: Handler, codes: DeliveryProblemCode[], message: string]> = {
  'mail without the id': [
    async () => void mails.push(crypto.randomUUID()),
    ['effect_repeated'],
    'observe().mails changed by 2, and by 1 with one delivery.',
  ],
  'row without a unique id': [
    async ({ payload }) => {
      await query('INSERT INTO orders (item) VALUES ($1)', [payload.item]);
    },
    ['effect_repeated'],
    'Table orders: inserted {"item":"rocket","message":null} beyond what one delivery does.',
  ],
  'balance that is added to': [
    async () => {
      await query(`UPDATE accounts SET balance = balance + 10 WHERE id = 'alice'`);
    },
    ['effect_repeated'],
    'Table accounts: updated {"balance":"+20"}, where one delivery has updated {"balance":"+10"}.',
  ],
  'looks first, acts then': [
    async ({ id }) => {
      const [known] = await query('SELECT FROM notes WHERE message = $1', [id]);
      await pause();
      if (!known) await query('INSERT INTO notes (message) VALUES ($1)', [id]);
    },
    ['effect_raced'],
    'Table notes: inserted',
  ],
  'note before the effect': [
    async ({ id }) => {
      const rows = await query(
        'INSERT INTO orders (message) VALUES ($1) ON CONFLICT DO NOTHING RETURNING id',
        [id],
      );
      if (rows.length === 0) return;
      await query(`UPDATE accounts SET balance = balance + 10 WHERE id = 'alice'`);
    },
    ['effect_lost'],
    'Table accounts: nothing, where one delivery has updated {"balance":"+10"}.',
  ],
  'first attempt only': [
    async ({ attempt, id }) => void (attempt === 1 && mailOnce(id)),
    ['effect_lost'],
    'observe().mails changed by 0, and by 1 with one delivery.',
  ],
  'swallows errors': [
    async ({ id }) => {
      await query('INSERT INTO orders (message) VALUES ($1) ON CONFLICT DO NOTHING', [id]).catch(
        () => undefined,
      );
    },
    ['effect_lost'],
    'Table orders: nothing, where one delivery has inserted',
  ],
  'fails on its own trace': [
    async ({ id }) => {
      await query('INSERT INTO orders (message) VALUES ($1)', [id]);
    },
    ['never_delivered'],
    'duplicate key value',
  ],
  'does not await': [
    async ({ id }) => {
      mailOnce(id);
      void pause().then(() =>
        query('INSERT INTO orders (message) VALUES ($1) ON CONFLICT DO NOTHING', [id]).catch(
          () => undefined,
        ),
      );
    },
    ['not_awaited'],
    'The handler went on after its promise had settled: INSERT INTO orders',
  ],
  'last message wins': [
    async ({ payload }) => {
      await query(`UPDATE accounts SET state = $1 WHERE id = 'alice'`, [payload.state]);
    },
    ['out_of_order'],
    'Table accounts: updated {"state":"paid"}, where two messages in turn has updated {"state":"shipped"}.',
  ],
  'does nothing': [async () => undefined, ['nothing_changed'], 'One delivery changed nothing'],
};

/** In turn, so that two at the same time do not see each other's rows. */
const inTurn = (work: (tx: EntityManager) => Promise<unknown>) =>
  dataSource.transaction(async (tx) => {
    await tx.query('SELECT pg_advisory_xact_lock(1)');
    await work(tx);
  });

const right: Record<string, Handler> = {
  'mail under the id': async ({ id }) => mailOnce(id),
  'unique id in the transaction of the effect': async ({ id }) => {
    await dataSource.transaction(async (tx) => {
      const rows: unknown[] = await tx.query(
        'INSERT INTO orders (message, item) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING id',
        [id, 'rocket'],
      );
      if (rows.length === 0) return;
      await tx.query(`UPDATE accounts SET balance = balance + 10 WHERE id = 'alice'`);
    });
  },
  'takes a unique violation for done': async ({ id }) => {
    await query('INSERT INTO orders (message) VALUES ($1)', [id]).catch((error: unknown) => {
      if ((error as { code?: string }).code !== '23505') throw error;
    });
  },
  'mail and row, each under the id': async ({ id }) => {
    await query('INSERT INTO orders (message) VALUES ($1) ON CONFLICT DO NOTHING', [id]);
    mailOnce(id);
  },
  'replaces its rows, with and without a primary key': ({ id }) =>
    inTurn(async (tx) => {
      for (const table of ['orders', 'notes']) {
        await tx.query(`DELETE FROM ${table} WHERE message = $1`, [id]);
        await tx.query(`INSERT INTO ${table} (message) VALUES ($1)`, [id]);
      }
    }),
  'fills a table anew': ({ id }) =>
    inTurn(async (tx) => {
      await tx.query('INSERT INTO notes (message) VALUES ($1)', [id]);
      await tx.query('TRUNCATE notes');
      await tx.query('INSERT INTO notes (message) VALUES ($1)', [id]);
    }),
  'ignores older messages': async ({ payload }) => {
    await query(
      `UPDATE accounts SET state = $1, version = $2 WHERE id = 'alice' AND version < $2`,
      [payload.state, payload.version],
    );
  },
};

describe('verifyDelivery', () => {
  let app: OutboxApp;
  beforeAll(async () => {
    const handlers = Object.entries(wrong).map(([topic, [handler]]) => [topic, handler]);
    app = await startOutboxApp({
      handlers: {
        ...(Object.fromEntries(handlers) as Record<string, Handler>),
        ...right,
        hangs: () => new Promise(() => undefined),
        'hangs in a transaction': () =>
          dataSource.transaction(async (tx) => {
            await tx.query(`UPDATE accounts SET balance = 0 WHERE id = 'alice'`);
            await new Promise<void>((resolve) => (letGo = resolve));
            throw new Error('let go');
          }),
      },
    });
    ({ dataSource } = app);
    await query('CREATE TABLE orders (id serial PRIMARY KEY, message uuid UNIQUE, item text)');
    await query('CREATE TABLE notes (message uuid, at timestamptz DEFAULT clock_timestamp())');
    await query(
      `CREATE TABLE accounts (id text PRIMARY KEY, balance int, state text, version int)`,
    );
    await query(`INSERT INTO accounts VALUES ('alice', 100, 'new', 0)`);
    // Its size does not matter.
    await query('CREATE TABLE archive AS SELECT generate_series(1, 50000) AS id');
  });

  const verify = (topic: string, options: Partial<DeliveryOptions> = {}) =>
    verifyDelivery(app.context, {
      message: (n) => ({ topic, payload: { item: 'rocket', n } }),
      observe: () => ({ mails: mails.length }),
      ...options,
    });

  /** Two messages of one order: paid, and then shipped. */
  const ordered = (topic: string): Partial<DeliveryOptions> => ({
    message: async (n) => {
      await query(`UPDATE accounts SET state = 'new', version = 0`);
      return { topic, orderingKey: `order-${n}`, payload: { state: 'paid', version: 1 } };
    },
    later: (n) => ({
      topic,
      orderingKey: `order-${n}`,
      payload: { state: 'shipped', version: 2 },
    }),
  });

  it.each(Object.keys(wrong))('finds the mistake: %s', async (topic) => {
    mails = [];
    const [, codes, message] = wrong[topic]!;
    const options = codes[0] === 'out_of_order' ? ordered(topic) : {};
    const error = await verify(topic, options).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(VerificationError);
    const { problems, message: text } = error as VerificationError;
    expect(problems.map(({ code }) => code)).toEqual(codes);
    expect(text).toContain(`@OutboxHandler('${topic}') is not safe: 1 problem`);
    expect(text).toContain(message);
    expect(text).toContain('   see:  docs/guides/testing.md#is-my-outbox-handler-safe');
    expect(await query('SELECT FROM idempotency_outbox')).toEqual([]);
  });

  it.each(Object.keys(right))('lets pass: %s', async (topic) => {
    mails = [];
    const options = topic === 'ignores older messages' ? ordered(topic) : {};
    const { problems, table, runs } = await verify(topic, options);
    expect(problems).toEqual([]);
    for (const run of runs) expect(run.outcome).toBe('delivered');
    expect(table).toContain('killed between the effect and the note of it');
    expect(table).toContain('delivered twice at the same time');
    if (topic.startsWith('unique id')) expect(table).toMatch(/statement \d fails \(COMMIT\)/);
    if (options.later) expect(table).toContain('the first message again, after the second one');
  });

  it('delivers what the application itself adds', async () => {
    mails = [];
    const report = await verify('mail under the id', {
      message: undefined as never,
      send: async () => {
        await app.add('mail under the id', {}, { orderingKey: 'all' });
        await app.add('another', {});
      },
      topic: 'mail under the id',
      expected: { mails: 1 },
    });
    expect(report.skipped).toEqual([expect.stringContaining('give later: (n) => …')]);
    expect(report.table).toContain('not verified: the order of messages');
  });

  it('compares with what the test expects, and ignores what it does not want to know', async () => {
    mails = [];
    const error = await verify('mail under the id', { expected: { mails: 2 } }).catch(
      (thrown: unknown) => thrown,
    );
    expect((error as VerificationError).problems).toMatchObject([
      {
        code: 'not_as_expected',
        message: 'observe().mails changed by 1 with one delivery, and expected says 2.',
        at: ['one delivery'],
      },
    ]);
    await verify('balance that is added to', {
      ignore: ['accounts.balance'],
      observe: () => ({ mails: 0 }),
    }).catch((thrown: VerificationError) => {
      expect(thrown.problems).toMatchObject([{ code: 'nothing_changed' }]);
    });
  });

  it.each(['hangs', 'hangs in a transaction'])('does not wait: %s', async (topic) => {
    const error = await verify(topic, { timeout: 50 }).catch((thrown: unknown) => thrown);
    expect((error as VerificationError).problems).toMatchObject([
      { code: 'never_delivered', message: expect.stringContaining('took longer than 50 ms') },
    ]);
    letGo?.();
  });

  it('says what is wrong with the test', async () => {
    await expect(verify('nobody')).rejects.toThrow("has no @OutboxHandler('nobody')");
    await expect(verify('nobody', { message: undefined as never })).rejects.toThrow(
      'give either message',
    );
    await expect(
      verify('nobody', { message: undefined as never, send: () => undefined }),
    ).rejects.toThrow('each run is about one message, and these were added: none');
    const busy = await startOutboxApp({
      database: app.database,
      idempotency: { maintenance: { outbox: { interval: '1h', maxInterval: '1h' } } },
    });
    await expect(verifyDelivery(busy.context, { message: { topic: 'nobody' } })).rejects.toThrow(
      'maintenance: { outbox: false }',
    );
    await busy.close();
  });
});
