import { expect, it } from '@jest/globals';
import { StoreUnavailableError } from '../../lib/postgres/store-unavailable.error.js';
import { Gather, type GatherOptions } from '../../lib/postgres/gather.js';
import { barrier } from '../support/barrier.js';

const options: GatherOptions<string> = {
  size: 3,
  bytes: 100,
  queue: 10,
  weigh: (item) => item.length,
};

/** A connection that a test can hold: each flight waits for its own barrier. */
function slowStore(overrides: Partial<GatherOptions<string>> = {}) {
  const flights: { items: string[]; land: () => void }[] = [];
  const departed = barrier();
  departed.open();
  const gather = new Gather<string, string>(
    async (items) => {
      const landing = barrier();
      flights.push({ items, land: landing.open });
      void departed.pass();
      await landing.pass();
      return items.map((item) => item.toUpperCase());
    },
    { ...options, ...overrides },
  );
  return { gather, flights, departed };
}

it('sends a lone call at once', async () => {
  const { gather, flights, departed } = slowStore();
  const answer = gather.call('a');
  await departed.arrived(1);
  expect(flights[0]!.items).toEqual(['a']);
  flights[0]!.land();
  expect(await answer).toBe('A');
});

it('gathers what one turn of the event loop brings', async () => {
  const { gather, flights, departed } = slowStore();
  const answers = ['a', 'b', 'c'].map((item) => gather.call(item));
  await departed.arrived(1);
  flights[0]!.land();
  expect(await Promise.all(answers)).toEqual(['A', 'B', 'C']);
  expect(flights.map(({ items }) => items)).toEqual([['a', 'b', 'c']]);
});

it('gathers what comes while a statement is on its way', async () => {
  const { gather, flights, departed } = slowStore({ flights: 1 });
  const first = gather.call('a');
  await departed.arrived(1);
  const answers = [first, ...['b', 'c', 'd', 'e'].map((item) => gather.call(item))];
  flights[0]!.land();
  await departed.arrived(2);
  flights[1]!.land();
  await departed.arrived(3);
  flights[2]!.land();
  expect(await Promise.all(answers)).toEqual(['A', 'B', 'C', 'D', 'E']);
  expect(flights.map(({ items }) => items)).toEqual([['a'], ['b', 'c', 'd'], ['e']]);
});

it('does not let a large item hold back small ones: it travels by itself', async () => {
  const { gather, flights, departed } = slowStore();
  const large = 'x'.repeat(200);
  const answers = ['a', 'b', large, 'c'].map((item) => gather.call(item));
  for (let flight = 0; flight < 3; flight++) {
    await departed.arrived(flight + 1);
    flights[flight]!.land();
  }
  await Promise.all(answers);
  expect(flights.map(({ items }) => items)).toEqual([['a', 'b'], [large], ['c']]);
});

it('does not wait for ever for a statement that stalls', async () => {
  const { gather, flights, departed } = slowStore();
  const stalled = gather.call('stalled');
  await departed.arrived(1);
  const next = gather.call('next');
  await departed.arrived(2);
  expect(flights[1]!.items).toEqual(['next']);
  flights[1]!.land();
  expect(await next).toBe('NEXT');
  flights[0]!.land();
  await stalled;
});

it('takes no more than four connections, however much stalls', async () => {
  const { gather, flights, departed } = slowStore();
  const answers = [];
  for (let flight = 1; flight <= 4; flight++) {
    answers.push(gather.call(String(flight)));
    await departed.arrived(flight);
  }
  answers.push(gather.call('a'), gather.call('b'));
  flights[0]!.land();
  await departed.arrived(5);
  expect(flights[4]!.items).toEqual(['a', 'b']);
  for (const { land } of flights) land();
  await Promise.all(answers);
});

it('refuses what would only fill memory', async () => {
  const { gather, flights, departed } = slowStore({ queue: 2 });
  const answers = ['a', 'b'].map((item) => gather.call(item));
  await expect(gather.call('c')).rejects.toThrow(StoreUnavailableError);
  await departed.arrived(1);
  flights[0]!.land();
  expect(await Promise.all(answers)).toEqual(['A', 'B']);
});

/** A store that refuses the items in `refused`, and with them the statement they are in. */
function refusingStore(refused: string[], error: Error) {
  const sent: string[][] = [];
  const first = barrier();
  const gather = new Gather<string, string>(async (items) => {
    sent.push(items);
    if (sent.length === 1) await first.pass();
    if (items.some((item) => refused.includes(item))) throw error;
    return items;
  }, options);
  return { gather, sent, first };
}

it('does not let a poisoned row fail its neighbours', async () => {
  const error = Object.assign(new Error('invalid byte sequence'), { code: '22021' });
  const { gather, sent, first } = refusingStore(['poison'], error);
  const calls = [gather.call('first')];
  await first.arrived(1);
  calls.push(...['a', 'poison', 'b'].map((item) => gather.call(item)));
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
])('tells everybody of %s, and sends nothing again by itself', async (_, error) => {
  const { gather, sent, first } = refusingStore(['b'], error);
  const calls = [gather.call('first')];
  await first.arrived(1);
  calls.push(...['a', 'b'].map((item) => gather.call(item)));
  first.open();
  const results = await Promise.allSettled(calls);
  expect(results.slice(1)).toEqual([
    { status: 'rejected', reason: error },
    { status: 'rejected', reason: error },
  ]);
  expect(sent).toEqual([['first'], ['a', 'b']]);
});

it('sends the next load while one is on its way, but not a third', async () => {
  const { gather, flights, departed } = slowStore();
  const answers = [gather.call('a')];
  await departed.arrived(1);
  answers.push(...['b', 'c', 'd'].map((item) => gather.call(item)));
  await departed.arrived(2);
  expect(flights.map(({ items }) => items)).toEqual([['a'], ['b', 'c', 'd']]);
  answers.push(gather.call('e'));
  flights[1]!.land();
  await departed.arrived(3);
  for (const { land } of flights) land();
  expect(await Promise.all(answers)).toEqual(['A', 'B', 'C', 'D', 'E']);
  expect(flights).toHaveLength(3);
});

it('takes whoever was just served along with the next load', async () => {
  const { gather, flights, departed } = slowStore({ flights: 1 });
  const twice = gather.call('once').then(() => gather.call('again'));
  await departed.arrived(1);
  const other = gather.call('other');
  flights[0]!.land();
  await departed.arrived(2);
  expect(flights[1]!.items).toEqual(['other', 'again']);
  flights[1]!.land();
  expect(await Promise.all([twice, other])).toEqual(['AGAIN', 'OTHER']);
});

it('lets an item travel alone that is to travel alone', async () => {
  const { gather, flights, departed } = slowStore({ flights: 1 });
  const answers = [
    gather.call('a'),
    gather.call('alone', true),
    gather.call('b'),
    gather.call('c'),
  ];
  for (let flight = 0; flight < 3; flight++) {
    await departed.arrived(flight + 1);
    flights[flight]!.land();
  }
  await Promise.all(answers);
  expect(flights.map(({ items }) => items)).toEqual([['a'], ['alone'], ['b', 'c']]);
});
