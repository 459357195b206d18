/**
 * DBOS behind the same kind of route: the idempotency key is the workflow's id,
 * and the steps are its transactions or its plain steps.
 */
import { Body, Controller, Headers, Module, Post } from '@nestjs/common';
import { DBOS } from '@dbos-inc/dbos-sdk';
import { DrizzleDataSource } from '@dbos-inc/drizzle-datasource';
import { sql } from 'drizzle-orm';
import { POOL_SIZE } from './data-source.js';
import { accept, type Payment } from './payment.js';
import { serve } from './serve.js';
import { STEPS } from './steps.js';
import { countTraffic } from './traffic.js';
import { prepareWork } from './work.js';

const url = process.env.BENCH_DATABASE_URL!;
const data = new DrizzleDataSource('bench', { connectionString: url, max: POOL_SIZE });

/** The statement of work.ts, in the way that Drizzle writes parameters. */
async function work(step: string, { amount }: Payment) {
  const statement = sql`INSERT INTO bench_work (step, amount) VALUES (${step}, ${amount})`;
  // The data source has the types of Drizzle's CommonJS build, which are declared a second time.
  await data.client.execute(statement as never);
  return { done: step };
}

const inTransactions = DBOS.registerWorkflow(
  async (payment: Payment) => {
    for (const step of STEPS) {
      await data.runTransaction(() => work(step, payment), {
        name: step,
        isolationLevel: 'read committed',
      });
    }
    return accept(payment);
  },
  { name: 'inTransactions' },
);

const inSteps = DBOS.registerWorkflow(
  async (payment: Payment) => {
    for (const step of STEPS) await DBOS.runStep(async () => ({ done: step }), { name: step });
    return accept(payment);
  },
  { name: 'inSteps' },
);

const withoutSteps = DBOS.registerWorkflow(async (payment: Payment) => accept(payment), {
  name: 'withoutSteps',
});

@Controller()
class PaymentsController {
  @Post('payments')
  create(@Headers('idempotency-key') key: string, @Body() payment: Payment) {
    return DBOS.withNextWorkflowID(key, () => withoutSteps(payment));
  }

  @Post('steps/local')
  local(@Headers('idempotency-key') key: string, @Body() payment: Payment) {
    return DBOS.withNextWorkflowID(key, () => inTransactions(payment));
  }

  @Post('steps/foreign')
  foreign(@Headers('idempotency-key') key: string, @Body() payment: Payment) {
    return DBOS.withNextWorkflowID(key, () => inSteps(payment));
  }
}

@Module({ controllers: [PaymentsController] })
class AppModule {}

const traffic = countTraffic();
DBOS.setConfig({
  name: 'bench',
  systemDatabaseUrl: url,
  systemDatabasePoolSize: POOL_SIZE,
  logLevel: 'error',
});
await prepareWork();
await DBOS.launch();
await serve(AppModule, { traffic });
