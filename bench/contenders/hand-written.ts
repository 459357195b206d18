/**
 * What one writes by hand with Nest's interceptors and TypeORM: one statement
 * takes the key, one stores the answer. No lease, no recovery, no exact bytes.
 */
import { createHash } from 'node:crypto';
import {
  Body,
  ConflictException,
  Controller,
  Injectable,
  Module,
  Post,
  UnprocessableEntityException,
  UseInterceptors,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import { mergeMap, of, type Observable } from 'rxjs';
import { Column, CreateDateColumn, Entity, PrimaryColumn, Repository } from 'typeorm';
import { dataSource } from './data-source.js';
import { accept, type Payment } from './payment.js';
import { serve } from './serve.js';
import { countTraffic } from './traffic.js';

@Entity()
class StoredRequest {
  @PrimaryColumn({ type: 'text' })
  key!: string;

  @Column({ type: 'text' })
  fingerprint!: string;

  @Column({ type: 'int', nullable: true })
  status!: number | null;

  @Column({ type: 'json', nullable: true })
  response!: object | null;

  @CreateDateColumn()
  createdAt!: Date;
}

@Injectable()
class HandWrittenInterceptor implements NestInterceptor {
  constructor(
    @InjectRepository(StoredRequest) private readonly requests: Repository<StoredRequest>,
  ) {}

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const request = context.switchToHttp().getRequest();
    const response = context.switchToHttp().getResponse();
    const key: string = request.headers['idempotency-key'];
    const fingerprint = createHash('sha256').update(JSON.stringify(request.body)).digest('hex');
    const taken = await this.requests
      .createQueryBuilder()
      .insert()
      .values({ key, fingerprint })
      .orIgnore()
      .returning('key')
      .execute();
    if (taken.raw.length === 0) {
      const stored = await this.requests.findOneByOrFail({ key });
      if (stored.fingerprint !== fingerprint) throw new UnprocessableEntityException();
      if (stored.status === null) throw new ConflictException();
      response.status(stored.status);
      return of(stored.response);
    }
    return next.handle().pipe(
      mergeMap(async (body: object) => {
        await this.requests.update({ key }, { status: response.statusCode, response: body });
        return body;
      }),
    );
  }
}

@Controller('payments')
class PaymentsController {
  @Post()
  @UseInterceptors(HandWrittenInterceptor)
  create(@Body() payment: Payment) {
    return accept(payment);
  }
}

@Module({
  imports: [
    TypeOrmModule.forRoot({ ...dataSource, synchronize: true }),
    TypeOrmModule.forFeature([StoredRequest]),
  ],
  controllers: [PaymentsController],
})
class AppModule {}

const traffic = countTraffic();
await serve(AppModule, { traffic });
