/**
 * DBOS behind the same kind of route: the idempotency key is the workflow's id,
 * and the steps are its transactions or its plain steps.
 */
import { Body, Controller, Headers, Module, Post } from '@nestjs/common';
import { DBOS } from '@dbos-inc/dbos-sdk';
import { DrizzleDataSource } from '@dbos-inc/drizzle-datasource';
import { POOL_SIZE } from './data-source.js';
import { accept, type Payment } from './payment.js';
import { serve } from './serve.js';
import { countStatements } from './statement-counter.js';
import { STEPS } from './steps.js';

const url = process.env.BENCH_DATABASE_URL!;
const data = new DrizzleDataSource('bench', { connectionString: url, max: POOL_SIZE });

const inTransactions = DBOS.registerWorkflow(
  async (payment: Payment) => {
    for (const step of STEPS) {
      await data.runTransaction(async () => ({ done: step }), {
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

@Controller('steps')
class StepsController {
  @Post('local')
  local(@Headers('idempotency-key') key: string, @Body() payment: Payment) {
    return DBOS.withNextWorkflowID(key, () => inTransactions(payment));
  }

  @Post('foreign')
  foreign(@Headers('idempotency-key') key: string, @Body() payment: Payment) {
    return DBOS.withNextWorkflowID(key, () => inSteps(payment));
  }
}

@Module({ controllers: [StepsController] })
class AppModule {}

const counted = countStatements();
DBOS.setConfig({
  name: 'bench',
  systemDatabaseUrl: url,
  systemDatabasePoolSize: POOL_SIZE,
  logLevel: 'error',
});
await DBOS.launch();
await serve(AppModule, { statements: counted });
