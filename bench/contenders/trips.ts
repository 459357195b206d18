/**
 * What any key in PostgreSQL costs before it is one: an interceptor that goes to
 * the database before the handler and after it, together with the other requests
 * of the moment, and writes nothing there.
 */
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
import { TypeOrmModule } from '@nestjs/typeorm';
import { mergeMap, type Observable } from 'rxjs';
import { DataSource } from 'typeorm';
import { dataSource } from './data-source.js';
import { accept, type Payment } from './payment.js';
import { serve } from './serve.js';
import { SharedTrips } from './shared-trips.js';
import { countTraffic } from './traffic.js';

@Injectable()
class TwoTrips implements NestInterceptor {
  private readonly trips = new SharedTrips(() => this.database.query('SELECT 1'));

  constructor(private readonly database: DataSource) {}

  async intercept(_context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    await this.trips.go(undefined);
    return next.handle().pipe(
      mergeMap(async (answer: unknown) => {
        await this.trips.go(undefined);
        return answer;
      }),
    );
  }
}

@Controller()
class PaymentsController {
  @Post('payments')
  @UseInterceptors(TwoTrips)
  create(@Body() payment: Payment) {
    return accept(payment);
  }
}

@Module({
  imports: [TypeOrmModule.forRoot(dataSource)],
  controllers: [PaymentsController],
})
class AppModule {}

const traffic = countTraffic();
await serve(AppModule, { traffic });
