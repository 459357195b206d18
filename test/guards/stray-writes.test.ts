import { TypeOrmModule } from '@nestjs/typeorm';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { AtomicPhase, type IdempotencyModuleOptions } from 'nestjs-atomic-idempotency';
import { DataSource } from 'typeorm';
import { describePhases, note, type PhaseApp } from '../support/phase-app.js';
import { Note } from './note.entity.js';

type Handler = (phases: AtomicPhase, dataSource: DataSource) => Promise<unknown>;

const insert = (dataSource: DataSource) => dataSource.getRepository(Note).insert({ note: 'stray' });

/** Each leaves one note outside the transaction of a phase. */
const outside: Record<string, Handler> = {
  'repository.save()': (_, db) => db.getRepository(Note).save({ note: 'stray' }),
  'repository.insert()': (_, db) => insert(db),
  'a transaction of the handler': (_, db) => db.transaction((tx) => note(tx, 'stray')),
  'a raw INSERT': (_, db) => db.query(`INSERT INTO notes (note) VALUES ('stray')`),
  'a write in a WITH': (_, db) =>
    db.query(
      `WITH made AS (INSERT INTO notes (note) VALUES ('stray') RETURNING id) SELECT * FROM made`,
    ),
  'a write between two phases': async (phases, db) => {
    await phases.local('first', async () => undefined);
    await insert(db);
    await phases.local('second', async () => undefined);
  },
};
const past: Handler = (phases, db) => phases.local('noted', () => insert(db));
const inCall: Handler = (phases, db) => phases.foreign('charged', { call: () => insert(db) });

/** None of these is a mistake. */
const fine: Record<string, Handler> = {
  'a write through tx': (phases) => phases.local('noted', (tx) => note(tx, 'proper')),
  'a write in record': (phases) =>
    phases.foreign('charged', { call: async () => 1, record: (tx) => note(tx, 'proper') }),
  'a read': (_, db) => db.query(`SELECT 'insert into notes' FROM notes FOR UPDATE`),
  'a write that may be repeated': (phases, db) => phases.unprotected(() => insert(db)),
};

function describeWrites(
  options: Partial<IdempotencyModuleOptions>,
  tests: (app: PhaseApp, run: (handler: Handler, key?: string) => Promise<number>) => void,
): void {
  describePhases(
    'A handler',
    (app) => {
      let requests = 0;
      tests(app, async (handler, key = `key-${++requests}`) => {
        const dataSource = app.app.get(DataSource);
        app.handle('write', (phases) => handler(phases, dataSource).then(() => 'done'));
        return (await app.post('write', key)).status;
      });
    },
    { imports: [TypeOrmModule.forFeature([Note])], idempotency: options },
  );
}

const outsideMessage =
  /PhasesController\.run wrote to the database outside any phase \(INSERT INTO "?notes"?\)\..*atomicPhase\.local\(\)/;
const pastMessage = /past the transaction of phase "noted" \(INSERT INTO "notes"\)\..*Use the tx/;
const inCallMessage = /in the call of foreign phase "charged".*in record/;

describe("Writes outside a phase, with foreignCalls: 'warn'", () => {
  // Sent as text they pass the guard, prepared ones do not: the library's own are never a mistake.
  describeWrites({ preparedStatements: false }, (app, run) => {
    const kinds = [
      ...Object.entries(outside),
      ['an UPDATE', (_, db) => db.getRepository(Note).update({ id: 0 }, { note: '' })],
      ['a DELETE', (_, db) => db.getRepository(Note).delete({ id: 0 })],
    ] as [string, Handler][];

    const warnings = new Map<string, number>();
    it.each(kinds)(
      'gets a warning for %s outside any phase, once per route and table',
      async (_, write) => {
        expect(await run(write)).toBe(201);
        expect(await run(write)).toBe(201);
        for (const log of app.logs) {
          expect(log).toMatch(/wrote to the database outside any phase .*atomicPhase\.local\(\)/);
          const what = /\(([^)]*)\)/.exec(log)![1]!;
          warnings.set(what, (warnings.get(what) ?? 0) + 1);
        }
        expect([...warnings.values()]).toEqual([...warnings.keys()].map(() => 1));
      },
    );

    it('has got a warning for each kind by then', () => {
      expect([...warnings.keys()].sort()).toEqual([
        'DELETE FROM "notes"',
        'INSERT INTO "notes"',
        'INSERT INTO notes',
        'UPDATE "notes"',
      ]);
    });

    it("gets a warning for a write past the phase's transaction", async () => {
      expect(await run(past)).toBe(201);
      expect(app.logs).toEqual([expect.stringMatching(pastMessage)]);
    });

    it('gets a warning for a write in a foreign call', async () => {
      expect(await run(inCall)).toBe(201);
      expect(app.logs).toEqual([expect.stringMatching(inCallMessage)]);
    });

    it.each(Object.entries(fine))('gets no warning for %s', async (_, handler) => {
      expect(await run(handler)).toBe(201);
      expect(app.logs).toEqual([]);
    });
  });
});

describe("Writes outside a phase, with foreignCalls: 'throw'", () => {
  describeWrites({ foreignCalls: 'throw', preparedStatements: false }, (app, run) => {
    it.each(Object.entries(outside))('may not make %s', async (_, handler) => {
      expect(await run(handler)).toBe(500);
      expect(app.logs).toEqual([expect.stringMatching(outsideMessage)]);
      expect(await app.notes()).toEqual([]);
    });

    it("may not write past the phase's transaction, nor in a foreign call", async () => {
      expect(await run(past)).toBe(500);
      expect(app.logs[0]).toMatch(pastMessage);
      expect(await run(inCall)).toBe(409); // a failed call is in doubt
      expect(await app.notes()).toEqual([]);
    });

    it.each(Object.entries(fine))('may make %s', async (_, handler) => {
      expect(await run(handler)).toBe(201);
      expect(app.logs).toEqual([]);
    });
  });
});

describe("Writes outside a phase, with foreignCalls: 'ignore'", () => {
  describeWrites({ foreignCalls: 'ignore' }, (app, run) => {
    it.each(Object.entries({ ...outside, past, inCall }))(
      'gets no warning for %s',
      async (_, work) => {
        expect(await run(work)).toBe(201);
        expect(await app.notes()).toEqual(['stray']);
        expect(app.logs).toEqual([]);
      },
    );
  });
});

describe("Writes outside a phase, on a phased route with foreignCalls: 'ignore'", () => {
  const options = { phased: true, foreignCalls: 'ignore', required: false } as const;
  describeWrites({ ...options, preparedStatements: false }, (app, run) => {
    beforeEach(() => void (app.logs.length = 0));

    it.each(Object.entries(outside))('may not make %s', async (_, handler) => {
      expect(await run(handler)).toBe(500);
      expect(app.logs).toEqual([expect.stringMatching(outsideMessage)]);
      expect(app.logs[0]).toMatch(/What is phased .* an error in every environment/);
      expect(await app.notes()).toEqual([]);
    });

    it("may not write past the phase's transaction", async () => {
      expect(await run(past)).toBe(500);
      expect(await app.notes()).toEqual([]);
    });

    it('may not write in a request without a key', async () => {
      const dataSource = app.app.get(DataSource);
      app.handle('unkeyed', () => insert(dataSource));
      expect((await app.post('unkeyed', undefined)).status).toBe(500);
      expect(await app.notes()).toEqual([]);
    });

    it('does not leave a phase in doubt for a write in its call', async () => {
      expect(await run(inCall)).toBe(201);
      expect(app.logs).toEqual([]);
    });

    it.each(Object.entries(fine))('may make %s', async (_, handler) => {
      expect(await run(handler)).toBe(201);
      expect(app.logs).toEqual([]);
    });
  });
});
