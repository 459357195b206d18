/**
 * The least that a key on disk can cost in PostgreSQL: an interceptor that inserts
 * a row before the handler and writes the answer to it afterwards, together with
 * the other requests of the moment. It never looks at them: no retry is
 * recognised, there is no lease and no recovery.
 */
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
import pg from 'pg';
import { mergeMap, type Observable } from 'rxjs';
import { POOL_SIZE } from './data-source.js';
import { accept, type Payment } from './payment.js';
import { serve } from './serve.js';
import { SharedTrips } from './shared-trips.js';
import { countTraffic } from './traffic.js';

interface Row {
  key: string;
  owner: string;
  fingerprint: Buffer;
  /** Once the handler has ended. */
  answer?: Buffer;
}

const traffic = countTraffic();
const pool = new pg.Pool({ connectionString: process.env.BENCH_DATABASE_URL!, max: POOL_SIZE });

// With room on its pages for the second version of each row, as the library's table has.
await pool.query(`CREATE TABLE kept (
  key text PRIMARY KEY,
  owner uuid NOT NULL,
  fingerprint bytea NOT NULL,
  locked_until timestamptz NOT NULL,
  status int,
  answer bytea
) WITH (fillfactor = 40)`);

/**
 * One statement for all, as prepared as the library's. With the limits, which it does not know,
 * PostgreSQL expects one row and uses the index, however small the table was when it planned.
 */
const WRITE = `
  WITH begun AS (
    INSERT INTO kept (key, owner, fingerprint, locked_until)
    SELECT key, owner, fingerprint, now() + interval '1 minute'
    FROM (SELECT * FROM unnest($1::text[], $2::uuid[], $3::bytea[]) LIMIT cardinality($1::text[]))
      AS begun (key, owner, fingerprint)
    ORDER BY key
    ON CONFLICT (key) DO NOTHING
    RETURNING key
  ), ended AS (
    UPDATE kept SET status = 201, answer = ended.answer
    FROM (SELECT * FROM unnest($4::text[], $5::uuid[], $6::bytea[]) LIMIT cardinality($4::text[]))
      AS ended (key, owner, answer)
    WHERE kept.key = ended.key AND kept.owner = ended.owner
    RETURNING kept.key
  )
  SELECT key FROM begun UNION ALL SELECT key FROM ended`;

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

@Controller()
class PaymentsController {
  @Post('payments')
  @UseInterceptors(KeepRows)
  create(@Body() payment: Payment) {
    return accept(payment);
  }
}

@Module({ controllers: [PaymentsController] })
class AppModule {}

await serve(AppModule, { traffic });
