import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { until } from '../support/until.js';
import { messages } from './messages.js';
import { createCompany, type Company } from './workers.js';

const MANY = 200;
const KEYS = 10;

let company: Company;
beforeAll(async () => {
  company = await createCompany();
  await company.database.query(
    `CREATE TABLE visits (id bigint GENERATED ALWAYS AS IDENTITY, message uuid NOT NULL,
                          process integer NOT NULL, came timestamptz NOT NULL, went timestamptz)`,
  );
});
afterAll(() => company.close());

describe('Several workers', () => {
  it('share the messages: none is delivered twice, and those of one ordering key follow each other', async () => {
    const { database, web } = company;
    const added: { id: string; key: string | undefined }[] = [];
    const workers = await Promise.all([company.startWorker(), company.startWorker()]);
    const bothAtWork = async () => {
      const found = await database.query('SELECT DISTINCT process FROM visits');
      return found.length === workers.length;
    };
    for (let i = 0; i < MANY || !(await bothAtWork()); i += 1) {
      const orderingKey = i % 2 === 0 ? `key ${i % KEYS}` : undefined;
      const id = await web.add('visits', i, orderingKey === undefined ? {} : { orderingKey });
      added.push({ id, key: orderingKey });
    }
    await until(async () => (await messages(database)).length === 0);

    const visits = await database.query<{
      message: string;
      process: number;
      came: Date;
      went: Date;
    }>('SELECT * FROM visits ORDER BY id');
    expect(visits.map((visit) => visit.message).toSorted()).toEqual(
      added.map(({ id }) => id).toSorted(),
    );
    for (const key of new Set(added.map((each) => each.key).filter((each) => each !== undefined))) {
      const ids = added.filter((each) => each.key === key).map(({ id }) => id);
      const ofKey = visits.filter((visit) => ids.includes(visit.message));
      expect(ofKey.map((visit) => visit.message)).toEqual(ids);
      const overlapping = ofKey.filter((visit, i) => i > 0 && ofKey[i - 1]!.went > visit.came);
      expect(overlapping).toEqual([]);
    }
  });
});
