import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { until } from '../support/until.js';
import { makeDue, message } from './messages.js';
import { createCompany, type Company } from './workers.js';

let company: Company;
beforeAll(async () => {
  company = await createCompany();
});
afterAll(() => company.close());

describe('A worker', () => {
  it.each(['succeed', 'fail'] as const)(
    'that was stopped past its lease can neither complete nor fail the message of its successor (%s)',
    async (ending) => {
      const { database, web } = company;
      const [sleeper, successor] = await Promise.all([
        company.startObedientWorker(database.url),
        company.startObedientWorker(database.url),
      ]);
      const id = await web.add('held charges', { amount: 100 });
      await sleeper.ask('look');
      expect(await sleeper.event('held')).toEqual({ id, attempt: 1 });
      sleeper.pause();
      await makeDue(database, id);

      await successor.ask('look');
      expect(await successor.event('held')).toEqual({ id, attempt: 2 });
      const taken = await message(database, id);

      sleeper.resume();
      await sleeper.ask('goOn', ending);
      await until(() => new RegExp(`Message ${id} .* another worker`).test(sleeper.output));
      expect(await message(database, id)).toEqual(taken);

      await successor.ask('goOn', 'succeed');
      await until(async () => !(await message(database, id)));
      // Both have charged, under the same id.
      expect(await sleeper.event('charged')).toEqual({ id, attempt: 1 });
      expect(await successor.event('charged')).toEqual({ id, attempt: 2 });
      expect(await company.chargesFor(id)).toBe(1);
      await Promise.all([sleeper.kill(), successor.kill()]);
    },
  );

  it('that gets SIGTERM finishes its delivery first', async () => {
    const { database, web } = company;
    const worker = await company.startWorker();
    const id = await web.add('held charges', { amount: 100 });
    await worker.event('held');
    const ended = worker.terminate();
    await worker.ask('goOn', 'succeed');
    await ended;
    expect(await message(database, id)).toBeUndefined();
    expect(await company.chargesFor(id)).toBe(1);
  });
});
