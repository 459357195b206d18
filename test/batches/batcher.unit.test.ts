import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { StoreUnavailableError } from '../../lib/postgres/store-unavailable.error.js';
import { Batcher, type BatcherOptions } from '../../lib/postgres/batcher.js';
import { barrier } from '../support/barrier.js';

const options: BatcherOptions<string> = {
  name: 'tests',
  size: 3,
  bytes: 100,
  queue: 20,
  weigh: (item) => item.length,
};

/** A connection that a test can hold: each statement waits for its own barrier. */
function slowStore(overrides: Partial<BatcherOptions<string>> = {}) {
  const statements: { items: string[]; answer: () => void }[] = [];
  const sent = barrier();
  sent.open();
  const batcher = new Batcher<string, string>(
    async (items) => {
      const answer = barrier();
      statements.push({ items, answer: answer.open });
      void sent.pass();
      await answer.pass();
      return items.map((item) => item.toUpperCase());
    },
    { ...options, ...overrides },
  );
  return { batcher, statements, sent };
}

describe('The batcher', () => {
  it('sends a single call at once', async () => {
    const { batcher, statements, sent } = slowStore();
    const answer = batcher.call('a');
    await sent.arrived(1);
    expect(statements[0]!.items).toEqual(['a']);
    statements[0]!.answer();
    expect(await answer).toBe('A');
  });

  it('batches the calls of one turn of the event loop', async () => {
    const { batcher, statements, sent } = slowStore();
    const answers = ['a', 'b', 'c'].map((item) => batcher.call(item));
    await sent.arrived(1);
    statements[0]!.answer();
    expect(await Promise.all(answers)).toEqual(['A', 'B', 'C']);
    expect(statements.map(({ items }) => items)).toEqual([['a', 'b', 'c']]);
  });

  it('batches the calls that arrive while a statement is under way', async () => {
    const { batcher, statements, sent } = slowStore();
    const first = batcher.call('a');
    await sent.arrived(1);
    const answers = [first, ...['b', 'c', 'd', 'e'].map((item) => batcher.call(item))];
    statements[0]!.answer();
    await sent.arrived(2);
    statements[1]!.answer();
    await sent.arrived(3);
    statements[2]!.answer();
    expect(await Promise.all(answers)).toEqual(['A', 'B', 'C', 'D', 'E']);
    expect(statements.map(({ items }) => items)).toEqual([['a'], ['b', 'c', 'd'], ['e']]);
  });

  const many = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];

  it('waits for a statement of many items, so that the next calls share one', async () => {
    const { batcher, statements, sent } = slowStore({ size: 20, gather: 60_000 });
    const answers = many.map((item) => batcher.call(item));
    await sent.arrived(1);
    answers.push(batcher.call('x'));
    await setImmediate();
    answers.push(batcher.call('y'));
    await setImmediate();
    expect(statements).toHaveLength(1);
    statements[0]!.answer();
    await sent.arrived(2);
    statements[1]!.answer();
    await Promise.all(answers);
    expect(statements.map(({ items }) => items)).toEqual([many, ['x', 'y']]);
  });

  it('does not wait for it for long', async () => {
    const { batcher, statements, sent } = slowStore({ size: 20 });
    const answers = many.map((item) => batcher.call(item));
    await sent.arrived(1);
    answers.push(batcher.call('x'));
    await sent.arrived(2);
    expect(statements[1]!.items).toEqual(['x']);
    for (const { answer } of statements) answer();
    await Promise.all(answers);
  });

  it('does not wait for it once as many items wait as are on their way', async () => {
    const { batcher, statements, sent } = slowStore({ size: 20, gather: 60_000 });
    const answers = many.map((item) => batcher.call(item));
    await sent.arrived(1);
    answers.push(...many.slice(1).map((item) => batcher.call(item)));
    await setImmediate();
    expect(statements).toHaveLength(1);
    answers.push(batcher.call('x'));
    await sent.arrived(2);
    expect(statements[1]!.items).toEqual([...many.slice(1), 'x']);
    for (const { answer } of statements) answer();
    await Promise.all(answers);
  });

  it('does not wait for it once another statement is full by its bytes', async () => {
    const { batcher, statements, sent } = slowStore({ size: 20, gather: 60_000 });
    const heavy = ['x'.repeat(50), 'y'.repeat(50)];
    const answers = many.map((item) => batcher.call(item));
    await sent.arrived(1);
    answers.push(...heavy.map((item) => batcher.call(item)));
    await sent.arrived(2);
    for (const { answer } of statements) answer();
    await Promise.all(answers);
    expect(statements.map(({ items }) => items)).toEqual([many, heavy]);
  });

  it('waits for a statement of few items as well while no connection is free', async () => {
    let exhausted = true;
    const overrides = { size: 20, gather: 60_000, exhausted: () => exhausted };
    const { batcher, statements, sent } = slowStore(overrides);
    const answers = [batcher.call('a')];
    await sent.arrived(1);
    answers.push(batcher.call('b'));
    await setImmediate();
    answers.push(batcher.call('c'));
    await setImmediate();
    expect(statements).toHaveLength(1);
    statements[0]!.answer();
    await sent.arrived(2);
    exhausted = false;
    answers.push(batcher.call('d'));
    await sent.arrived(3);
    for (const { answer } of statements) answer();
    await Promise.all(answers);
    expect(statements.map(({ items }) => items)).toEqual([['a'], ['b', 'c'], ['d']]);
  });

  it('does not wait for a connection with many items', async () => {
    const overrides = { size: 20, gather: 60_000, exhausted: () => true };
    const { batcher, statements, sent } = slowStore(overrides);
    const answers = [batcher.call('x')];
    await sent.arrived(1);
    answers.push(...many.map((item) => batcher.call(item)));
    await sent.arrived(2);
    for (const { answer } of statements) answer();
    await Promise.all(answers);
    expect(statements.map(({ items }) => items)).toEqual([['x'], many]);
  });

  it('sends a large item unbatched, so that small ones do not wait for it', async () => {
    const { batcher, statements, sent } = slowStore();
    const large = 'x'.repeat(200);
    const answers = ['a', 'b', large, 'c'].map((item) => batcher.call(item));
    for (let statement = 0; statement < 3; statement++) {
      await sent.arrived(statement + 1);
      statements[statement]!.answer();
    }
    await Promise.all(answers);
    expect(statements.map(({ items }) => items)).toEqual([['a', 'b'], [large], ['c']]);
  });

  it('does not wait forever for a statement that stalls', async () => {
    const { batcher, statements, sent } = slowStore();
    const stalled = batcher.call('stalled');
    await sent.arrived(1);
    const next = batcher.call('next');
    await sent.arrived(2);
    expect(statements[1]!.items).toEqual(['next']);
    statements[1]!.answer();
    expect(await next).toBe('NEXT');
    statements[0]!.answer();
    await stalled;
  });

  it('uses no more than four connections, however many statements stall', async () => {
    const { batcher, statements, sent } = slowStore();
    const answers = [];
    for (let statement = 1; statement <= 4; statement++) {
      answers.push(batcher.call(String(statement)));
      await sent.arrived(statement);
    }
    answers.push(batcher.call('a'), batcher.call('b'));
    statements[0]!.answer();
    await sent.arrived(5);
    expect(statements[4]!.items).toEqual(['a', 'b']);
    for (const { answer } of statements) answer();
    await Promise.all(answers);
  });

  it('refuses calls that would only fill memory', async () => {
    const { batcher, statements, sent } = slowStore({ queue: 2 });
    const answers = ['a', 'b'].map((item) => batcher.call(item));
    await expect(batcher.call('c')).rejects.toThrow(StoreUnavailableError);
    await sent.arrived(1);
    statements[0]!.answer();
    expect(await Promise.all(answers)).toEqual(['A', 'B']);
  });

  /** A store that refuses the items in `refused`, and with them the statement they are in. */
  function refusingStore(refused: string[], error: Error) {
    const sent: string[][] = [];
    const first = barrier();
    const batcher = new Batcher<string, string>(async (items) => {
      sent.push(items);
      if (sent.length === 1) await first.pass();
      if (items.some((item) => refused.includes(item))) throw error;
      return items;
    }, options);
    return { batcher, sent, first };
  }

  it('isolates a row that the database refuses from the rest of its batch', async () => {
    const error = Object.assign(new Error('invalid byte sequence'), { code: '22021' });
    const { batcher, sent, first } = refusingStore(['poison'], error);
    const calls = [batcher.call('first')];
    await first.arrived(1);
    calls.push(...['a', 'poison', 'b'].map((item) => batcher.call(item)));
    first.open();
    const results = await Promise.allSettled(calls);
    expect(results.map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'rejected',
      'fulfilled',
    ]);
    expect(sent).toEqual([['first'], ['a', 'poison', 'b'], ['a'], ['poison'], ['b']]);
  });

  it.each([
    ['a lost connection', Object.assign(new Error('reset'), { code: 'ECONNRESET' })],
    ['a time-out', new StoreUnavailableError('no answer', { late: Promise.resolve() })],
  ])('reports %s to every caller, and repeats nothing by itself', async (_, error) => {
    const { batcher, sent, first } = refusingStore(['b'], error);
    const calls = [batcher.call('first')];
    await first.arrived(1);
    calls.push(...['a', 'b'].map((item) => batcher.call(item)));
    first.open();
    const results = await Promise.allSettled(calls);
    expect(results.slice(1)).toEqual([
      { status: 'rejected', reason: error },
      { status: 'rejected', reason: error },
    ]);
    expect(sent).toEqual([['first'], ['a', 'b']]);
  });

  it('sends a second batch while one is under way, but not a third', async () => {
    const { batcher, statements, sent } = slowStore();
    const answers = [batcher.call('a')];
    await sent.arrived(1);
    answers.push(...['b', 'c', 'd'].map((item) => batcher.call(item)));
    await sent.arrived(2);
    expect(statements.map(({ items }) => items)).toEqual([['a'], ['b', 'c', 'd']]);
    answers.push(batcher.call('e'));
    statements[1]!.answer();
    await sent.arrived(3);
    for (const { answer } of statements) answer();
    expect(await Promise.all(answers)).toEqual(['A', 'B', 'C', 'D', 'E']);
    expect(statements).toHaveLength(3);
  });

  it('includes callers that were just answered in the next batch', async () => {
    const { batcher, statements, sent } = slowStore();
    const twice = batcher.call('once').then(() => batcher.call('again'));
    await sent.arrived(1);
    const other = batcher.call('other');
    statements[0]!.answer();
    await sent.arrived(2);
    expect(statements[1]!.items).toEqual(['other', 'again']);
    statements[1]!.answer();
    expect(await Promise.all([twice, other])).toEqual(['AGAIN', 'OTHER']);
  });

  it('sends an item unbatched if it asks for that', async () => {
    const { batcher, statements, sent } = slowStore();
    const answers = [
      batcher.call('a'),
      batcher.call('alone', true),
      batcher.call('b'),
      batcher.call('c'),
    ];
    for (let statement = 0; statement < 3; statement++) {
      await sent.arrived(statement + 1);
      statements[statement]!.answer();
    }
    await Promise.all(answers);
    expect(statements.map(({ items }) => items)).toEqual([['a'], ['alone'], ['b', 'c']]);
  });
});
