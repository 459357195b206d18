/**
 * What the rows of the library cost without the library: an interceptor that sends
 * the library's own statements, together with the other requests of the moment, and
 * runs the handler in an AsyncLocalStorage, by which a phase has to find its request.
 * They write the same rows to the same tables, but nobody looks at what is found
 * there: no retry is recognised, no lease is renewed, no answer is held.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { hash, randomUUID } from 'node:crypto';
import {
  Body,
  Controller,
  Injectable,
  Module,
  Post,
  UseInterceptors,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { idempotencyMigrations } from 'nestjs-atomic-idempotency/migrations';
import pg from 'pg';
import { mergeMap, Observable } from 'rxjs';
import { DataSource, type EntityManager } from 'typeorm';
import {
  finishSql,
  OUTCOMES,
  OUTCOMES_AND_PHASES,
  RESERVATIONS,
  reserveAndFinishSql,
  reserveSql,
} from '#lib/keys/key-statements.js';
import { ENTRIES_AFTER, localEndSql, recordSql } from '#lib/phases/phase-statements.js';
import { BatchStatement } from '#lib/postgres/batch-statement.js';
import { Database } from '#lib/postgres/database.js';
import { PreparedStatement } from '#lib/postgres/prepared-statement.js';
import { Transactions } from '#lib/postgres/transactions.js';
import { dataSource, POOL_SIZE } from './data-source.js';
import { accept, type Payment } from './payment.js';
import { serve } from './serve.js';
import { SharedTrips } from './shared-trips.js';
import { STEPS } from './steps.js';
import { countTraffic } from './traffic.js';
import { INSERT_WORK, prepareWork } from './work.js';

const KEYS = 'idempotency_keys';
const PHASES = 'idempotency_phases';
const LEASE = 30_000;
const RETENTION = 86_400_000;
const HEADERS = '{"content-type":"application/json; charset=utf-8"}';

const reserve = new BatchStatement([RESERVATIONS], (shared) =>
  reserveSql(KEYS, 'many', { shared }),
);
const [finish, finishAfter] = [OUTCOMES, OUTCOMES_AND_PHASES].map((columns, after) => {
  const phases = after ? PHASES : undefined;
  return {
    alone: new BatchStatement([columns], (shared) => finishSql(KEYS, 'many', { shared, phases })),
    withReservations: new BatchStatement([RESERVATIONS, columns], (wanted, shared) =>
      reserveAndFinishSql(KEYS, wanted, shared, phases),
    ),
  };
});
const record = new BatchStatement([ENTRIES_AFTER], (shared) =>
  recordSql(KEYS, PHASES, 'many', { shared, after: true }),
);

const traffic = countTraffic();
await prepareWork();
const typeOrm = await new DataSource({
  ...dataSource,
  migrations: idempotencyMigrations,
}).initialize();
await typeOrm.runMigrations();
const pool = new pg.Pool({ connectionString: process.env.BENCH_DATABASE_URL!, max: POOL_SIZE });

/** A class, as what lives as long as a request is in the library. */
class Row {
  readonly owner = randomUUID();
  id = '';
  answer: Buffer | undefined;
  /** The last foreign step, whose result is recorded with the answer. */
  step: Step | undefined;

  constructor(
    readonly key: string,
    readonly fingerprint: Buffer,
  ) {}
}

async function send([statement, values]: [PreparedStatement, unknown[]]): Promise<unknown[]> {
  const name = statement.nextName();
  return (await pool.query({ name, text: statement.text, values })).rows as unknown[];
}

function reservations(rows: Row[]): unknown[][] {
  const all = (value: unknown) => rows.map(() => value);
  return [
    ...[all(''), all('')],
    rows.map(({ key }) => key),
    rows.map(({ fingerprint }) => fingerprint),
    rows.map(({ owner }) => owner),
    ...[all(LEASE), all(RETENTION), all(null), all(null)],
    ...[all('POST'), all('/payments'), all('/payments'), all(null), all(null), all(null)],
  ];
}

function outcomes(rows: Row[]): unknown[][] {
  const all = (value: unknown) => rows.map(() => value);
  return [
    rows.map(({ id }) => id),
    rows.map(({ owner }) => owner),
    ...[all('completed'), all(201), all(HEADERS)],
    rows.map(({ answer }) => answer),
    ...[all(1), all(null), all(RETENTION), all(null)],
    ...(rows.some(({ step }) => step)
      ? [rows.map(({ step }) => step?.name ?? null), rows.map(({ step }) => step?.result ?? null)]
      : []),
  ];
}

async function write(rows: Row[]): Promise<void> {
  const begun = rows.filter(({ answer }) => !answer);
  const ended = rows.filter(({ answer }) => answer);
  const { alone, withReservations } = ended.some(({ step }) => step) ? finishAfter! : finish!;
  const found = await send(
    begun.length === 0
      ? alone.of(outcomes(ended))
      : ended.length === 0
        ? reserve.of(reservations(begun))
        : withReservations.of(reservations(begun), outcomes(ended)),
  );
  const ids = new Map((found as Row[]).map(({ owner, id }) => [owner, id]));
  for (const row of begun) row.id = ids.get(row.owner)!;
}

interface Step {
  name: string;
  result: string;
}

/** The intent of a step, with the result of the one before. */
interface Entry {
  row: Row;
  name: string;
  position: number;
  before: Step | undefined;
}

async function writeSteps(entries: Entry[]): Promise<void> {
  const all = (value: unknown) => entries.map(() => value);
  await send(
    record.of([
      entries.map(({ row }) => row.id),
      entries.map(({ row }) => row.owner),
      ...[all(LEASE), all(null), all(null), all(RETENTION)],
      entries.map(({ name }) => name),
      entries.map(({ position }) => position),
      ...[all('foreign'), all('intended'), all(1)],
      entries.map(() => randomUUID()),
      ...[all('stop'), all(null), all(null), all(null)],
      entries.map(({ before }) => before?.name ?? null),
      entries.map(({ before }) => before?.result ?? null),
    ]),
  );
}

const endLocal = `PREPARE local_end AS ${localEndSql(KEYS, PHASES)}`;
const prepared = new WeakSet<object>();

/** What a local step needs of a connection. */
interface Querying {
  query(text: string): Promise<unknown>;
}

/** A transaction in two trips, as the library has them: BEGIN leaves with the work, and COMMIT with the end of the phase. */
async function inTwoTrips(
  connection: Querying,
  { row, step, position, amount }: { row: Row; step: string; position: number; amount: number },
): Promise<void> {
  const name = pg.escapeLiteral(step);
  await connection.query(
    `BEGIN; INSERT INTO bench_work (step, amount) VALUES (${name}, ${Number(amount)})`,
  );
  await connection.query(
    `EXECUTE local_end ('', ${row.id}, '${row.owner}', ${LEASE}, ${name}, ${position}, 1, '{"done":${JSON.stringify(step)}}'); COMMIT`,
  );
}

async function prepareEnd(client: Querying): Promise<void> {
  if (prepared.has(client)) return;
  prepared.add(client);
  await client.query(endLocal);
}

type LocalStep = Parameters<typeof inTwoTrips>[1];

async function inTransaction(step: LocalStep): Promise<void> {
  const client = await pool.connect();
  await prepareEnd(client);
  await inTwoTrips(client, step);
  client.release();
}

/** The same through TypeORM, whose `tx` the work of a phase gets; without what TypeORM does for BEGIN and COMMIT. */
async function inTypeOrm(step: LocalStep): Promise<void> {
  const runner = typeOrm.createQueryRunner();
  await prepareEnd((await runner.connect()) as Querying);
  await inTwoTrips(runner, step);
  await runner.release();
}

const transactions = new Transactions(typeOrm, new Database(typeOrm, 5_000, undefined, true));
const localEnd = new PreparedStatement(localEndSql(KEYS, PHASES));

/** And with what TypeORM does for BEGIN and COMMIT, and with parameters: the library's transactions without its phases. */
async function inTransactionOfTypeOrm({ row, step, position, amount }: LocalStep): Promise<void> {
  const work = async (tx: EntityManager) => {
    await tx.query(INSERT_WORK, [step, amount]);
    const result = JSON.stringify({ done: step });
    return {
      scope: '',
      statement: localEnd,
      parameters: ['', row.id, row.owner, LEASE, step, position, 1, result],
      failure: (error: unknown) => error,
    };
  };
  await transactions.run(work, () => undefined);
}

const steps = new SharedTrips(writeSteps);

interface Keyed {
  headers: { 'idempotency-key': string };
  body: unknown;
}

const running = new AsyncLocalStorage<Row>();

/** Nest keeps the context in which the handler is asked for. */
function inContext(row: Row, next: CallHandler): Observable<unknown> {
  return new Observable((subscriber) =>
    running.run(row, () => next.handle().subscribe(subscriber)),
  );
}

@Injectable()
class SendStatements implements NestInterceptor {
  private readonly trips = new SharedTrips(write);

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const request = context.switchToHttp().getRequest<Keyed>();
    const fingerprint = hash('sha256', JSON.stringify(request.body), 'buffer');
    const row = new Row(request.headers['idempotency-key'], fingerprint);
    await this.trips.go(row);
    return inContext(row, next).pipe(
      mergeMap(async (answer: unknown) => {
        row.answer = Buffer.from(JSON.stringify(answer));
        await this.trips.go(row);
        return answer;
      }),
    );
  }
}

@Controller()
@UseInterceptors(SendStatements)
class PaymentsController {
  @Post('payments')
  create(@Body() payment: Payment) {
    return accept(payment);
  }

  @Post('steps/foreign')
  async inForeignSteps(@Body() payment: Payment) {
    const row = running.getStore()!;
    for (const [index, name] of STEPS.entries()) {
      await steps.go({ row, name, position: index + 1, before: row.step });
      row.step = { name, result: JSON.stringify({ done: name }) };
    }
    return accept(payment);
  }

  @Post('steps/local')
  async inTransactions(@Body() payment: Payment) {
    return inLocalSteps(payment, inTransaction);
  }

  @Post('steps/local/typeorm')
  async inTypeOrm(@Body() payment: Payment) {
    return inLocalSteps(payment, inTypeOrm);
  }

  @Post('steps/local/transactions')
  async inTransactionsOfTypeOrm(@Body() payment: Payment) {
    return inLocalSteps(payment, inTransactionOfTypeOrm);
  }
}

async function inLocalSteps(payment: Payment, make: (step: LocalStep) => Promise<void>) {
  const row = running.getStore()!;
  for (const [index, step] of STEPS.entries()) {
    await make({ row, step, position: index + 1, amount: payment.amount });
  }
  return accept(payment);
}

@Module({ controllers: [PaymentsController] })
class AppModule {}

await serve(AppModule, { traffic });
