/**
 * The least that keys and steps on disk can cost in PostgreSQL: an interceptor that
 * inserts a row before the handler and writes the answer to it afterwards, together
 * with the other requests of the moment. A step in a transaction takes two trips
 * with a row of its own, a foreign one two rows in shared statements. Nothing ever
 * looks at the rows: no retry is recognised, there is no lease and no recovery.
 */
import { hash, randomUUID } from 'node:crypto';
import {
  Body,
  Controller,
  Injectable,
  Module,
  Post,
  Req,
  UseInterceptors,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import pg from 'pg';
import { mergeMap, type Observable } from 'rxjs';
import { POOL_SIZE } from './data-source.js';
import { KEPT, WRITE } from './kept.js';
import { accept, type Payment } from './payment.js';
import { serve } from './serve.js';
import { SharedTrips } from './shared-trips.js';
import { STEPS } from './steps.js';
import { countTraffic } from './traffic.js';
import { prepareWork } from './work.js';

interface Row {
  key: string;
  owner: string;
  fingerprint: Buffer;
  /** Once the handler has ended. */
  answer?: Buffer;
}

const traffic = countTraffic();
const pool = new pg.Pool({ connectionString: process.env.BENCH_DATABASE_URL!, max: POOL_SIZE });

await pool.query(KEPT);

async function write(rows: Row[]): Promise<void> {
  const begun = rows.filter(({ answer }) => !answer);
  const ended = rows.filter(({ answer }) => answer);
  await pool.query({
    name: 'write',
    text: WRITE,
    values: [
      begun.map(({ key }) => key),
      begun.map(({ owner }) => owner),
      begun.map(({ fingerprint }) => fingerprint),
      ended.map(({ key }) => key),
      ended.map(({ owner }) => owner),
      ended.map(({ answer }) => answer),
    ],
  });
}

await prepareWork();
await pool.query(`CREATE TABLE kept_steps (
  key text NOT NULL,
  step text NOT NULL,
  result json,
  PRIMARY KEY (key, step)
) WITH (fillfactor = 40)`);

/** A transaction in two trips: BEGIN leaves with the work, and COMMIT with the row of the step. */
async function inTransaction(key: string, step: string, amount: number): Promise<void> {
  const client = await pool.connect();
  const [name, owner] = [client.escapeLiteral(step), client.escapeLiteral(key)];
  await client.query(
    `BEGIN; INSERT INTO bench_work (step, amount) VALUES (${name}, ${Number(amount)})`,
  );
  await client.query(
    `INSERT INTO kept_steps (key, step, result) VALUES (${owner}, ${name}, 'null'); COMMIT`,
  );
  client.release();
}

interface StepRow {
  key: string;
  step: string;
  /** Once the step has ended. */
  result?: string;
}

const WRITE_STEPS = `
  WITH begun AS (
    INSERT INTO kept_steps (key, step)
    SELECT key, step
    FROM (SELECT * FROM unnest($1::text[], $2::text[]) LIMIT cardinality($1::text[]))
      AS begun (key, step)
    ORDER BY key
  )
  UPDATE kept_steps SET result = ended.result::json
  FROM (SELECT * FROM unnest($3::text[], $4::text[], $5::text[]) LIMIT cardinality($3::text[]))
    AS ended (key, step, result)
  WHERE kept_steps.key = ended.key AND kept_steps.step = ended.step`;

const stepTrips = new SharedTrips(async (rows: StepRow[]) => {
  const begun = rows.filter(({ result }) => result === undefined);
  const ended = rows.filter(({ result }) => result !== undefined);
  await pool.query({
    name: 'steps',
    text: WRITE_STEPS,
    values: [
      begun.map(({ key }) => key),
      begun.map(({ step }) => step),
      ended.map(({ key }) => key),
      ended.map(({ step }) => step),
      ended.map(({ result }) => result),
    ],
  });
});

@Injectable()
class KeepRows implements NestInterceptor {
  private readonly trips = new SharedTrips(write);

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const { headers, body } = context.switchToHttp().getRequest();
    const row: Row = {
      key: headers['idempotency-key'],
      owner: randomUUID(),
      fingerprint: hash('sha256', JSON.stringify(body), 'buffer'),
    };
    await this.trips.go(row);
    return next.handle().pipe(
      mergeMap(async (answer: unknown) => {
        await this.trips.go({ ...row, answer: Buffer.from(JSON.stringify(answer)) });
        return answer;
      }),
    );
  }
}

interface Keyed {
  headers: { 'idempotency-key': string };
}

@Controller()
@UseInterceptors(KeepRows)
class PaymentsController {
  @Post('payments')
  create(@Body() payment: Payment) {
    return accept(payment);
  }

  @Post('steps/local')
  async inTransactions(@Body() payment: Payment, @Req() { headers }: Keyed) {
    for (const step of STEPS) {
      await inTransaction(headers['idempotency-key'], step, payment.amount);
    }
    return accept(payment);
  }

  @Post('steps/foreign')
  async inForeignSteps(@Body() payment: Payment, @Req() { headers }: Keyed) {
    const key = headers['idempotency-key'];
    for (const step of STEPS) {
      await stepTrips.go({ key, step });
      const result = JSON.stringify({ done: step });
      await stepTrips.go({ key, step, result });
    }
    return accept(payment);
  }
}

@Module({ controllers: [PaymentsController] })
class AppModule {}

await serve(AppModule, { traffic });
