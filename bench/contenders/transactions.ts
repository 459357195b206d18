/** What the work of local steps costs by itself: a transaction of TypeORM for each, and nothing that could resume them. */
import { Body, Controller, Module, Post } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { dataSource } from './data-source.js';
import { accept, type Payment } from './payment.js';
import { serve } from './serve.js';
import { STEPS } from './steps.js';
import { countTraffic } from './traffic.js';
import { INSERT_WORK, prepareWork } from './work.js';

@Controller()
class PaymentsController {
  constructor(private readonly database: DataSource) {}

  @Post('steps/local')
  async inTransactions(@Body() payment: Payment) {
    for (const step of STEPS) {
      await this.database.transaction((tx) => tx.query(INSERT_WORK, [step, payment.amount]));
    }
    return accept(payment);
  }
}

@Module({ imports: [TypeOrmModule.forRoot(dataSource)], controllers: [PaymentsController] })
class AppModule {}

const traffic = countTraffic();
await prepareWork();
await serve(AppModule, { traffic });
