import {
  ConflictException,
  Controller,
  Inject,
  Injectable,
  Scope,
  ValidationPipe,
  type CallHandler,
  type ExecutionContext,
  type INestApplication,
  type NestInterceptor,
} from '@nestjs/common';
import {
  Ctx,
  EventPattern,
  GrpcMethod,
  MessagePattern,
  Payload,
  Transport,
} from '@nestjs/microservices';
import { Test } from '@nestjs/testing';
import { TypeOrmModule } from '@nestjs/typeorm';
import { IsInt, IsOptional } from 'class-validator';
import {
  IdempotencyModule,
  Idempotent,
  type IdempotencyModuleOptions,
} from 'nestjs-atomic-idempotency';
import { of, map, type Observable } from 'rxjs';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { recordingLogger, type RecordingLogger } from '../support/recording-logger.js';
import { KafkaServer, NatsServer, RabbitServer, RedisServer, Wire } from './servers.js';

/** What handlers do, chosen by each test, and how often they were called. */
@Injectable()
export class Work {
  readonly calls: Record<string, number> = {};
  private readonly work: Record<string, (payload: any) => unknown> = {};

  on(name: string, work: (payload: any) => unknown): void {
    this.work[name] = work;
  }

  do(name: string, payload?: unknown): unknown {
    this.calls[name] = (this.calls[name] ?? 0) + 1;
    return this.work[name]?.(payload) ?? { number: this.calls[name] };
  }

  reset(): void {
    for (const map of [this.calls, this.work])
      for (const name of Object.keys(map)) delete map[name];
  }
}

export class Order {
  @IsOptional()
  @IsInt()
  amount?: number;
}

@Controller()
export class InboxController {
  constructor(private readonly work: Work) {}

  @MessagePattern('order')
  @Idempotent()
  order(@Payload() payload: unknown, @Ctx() _context: unknown): unknown {
    return this.work.do('order', payload);
  }

  @EventPattern('ordered')
  @Idempotent()
  ordered(@Payload() payload: unknown): unknown {
    return this.work.do('ordered', payload);
  }

  @EventPattern('ordered')
  @Idempotent()
  orderedAsWell(@Payload() payload: unknown): unknown {
    return this.work.do('orderedAsWell', payload);
  }

  @MessagePattern({ cmd: 'own' })
  @Idempotent({
    key: ({ reference }: { reference?: string }, context: { prefix?: string }) =>
      reference && `${context.prefix ?? ''}${reference}`,
    scope: ({ tenant }: { tenant?: string }) => tenant,
    skip: ({ dry }: { dry?: boolean }) => dry === true,
    fingerprint: ({ amount }: { amount: number }) => amount,
    keepRequest: true,
  })
  own(@Payload() payload: unknown): unknown {
    return this.work.do('own', payload);
  }

  @MessagePattern('optional')
  @Idempotent({ required: false })
  optional(): unknown {
    return this.work.do('optional');
  }

  @MessagePattern('waiting')
  @Idempotent({ onInProgress: 'wait', waitFor: '30s' })
  waiting(): unknown {
    return this.work.do('waiting');
  }

  @MessagePattern('checked')
  @Idempotent()
  checked(@Payload(new ValidationPipe({ transform: true })) payload: Order): unknown {
    return this.work.do('checked', payload);
  }

  @MessagePattern('several')
  @Idempotent()
  several(): Observable<unknown> {
    this.work.do('several');
    return of(1, 2, 3);
  }

  @GrpcMethod('Orders', 'Create')
  @Idempotent()
  grpc(payload: unknown): unknown {
    return this.work.do('grpc', payload);
  }
}

@Controller()
@Idempotent({ settle: true, phased: true })
export class SettledController {
  constructor(private readonly work: Work) {}

  @EventPattern('paid', Transport.RMQ)
  paid(@Payload() payload: unknown): unknown {
    return this.work.do('paid', payload);
  }

  @EventPattern('shipped', Transport.RMQ)
  shipped(@Payload() payload: unknown): unknown {
    return this.work.do('shipped', payload);
  }

  @EventPattern('shipped', Transport.RMQ)
  shippedAsWell(@Payload() payload: unknown): unknown {
    return this.work.do('shippedAsWell', payload);
  }

  @EventPattern('validated', Transport.RMQ)
  validated(@Payload(new ValidationPipe({ transform: true })) payload: Order): unknown {
    return this.work.do('validated', payload);
  }

  @MessagePattern('refund', Transport.RMQ)
  refund(@Payload() payload: unknown): unknown {
    return this.work.do('refund', payload);
  }

  @MessagePattern('elsewhere')
  elsewhere(): unknown {
    return this.work.do('elsewhere');
  }
}

@Controller({ scope: Scope.REQUEST })
export class ScopedController {
  constructor(@Inject(Work) private readonly work: Work) {}

  @MessagePattern('scoped')
  @Idempotent()
  scoped(): unknown {
    return this.work.do('scoped');
  }
}

/** Around the library's: it sees results and replays alike. */
class Numbering implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const isNumbered = (context.switchToRpc().getData() as { numbered?: boolean } | null)?.numbered;
    return isNumbered ? next.handle().pipe(map((value) => ({ value }))) : next.handle();
  }
}

export interface InboxApp {
  app: INestApplication;
  database: TestDatabase;
  work: Work;
  logger: RecordingLogger;
  rabbit: RabbitServer;
  kafka: KafkaServer;
  nats: NatsServer;
  redis: RedisServer;
  wire: Wire;
  close(): Promise<void>;
}

/** A hybrid application with a server of each kind. */
export async function startInbox(
  idempotency: Partial<IdempotencyModuleOptions> = {},
): Promise<InboxApp> {
  const database = await createTestDatabase();
  const logger = recordingLogger();
  const testing = await Test.createTestingModule({
    imports: [
      TypeOrmModule.forRoot({ ...database.dataSourceOptions, autoLoadEntities: true }),
      IdempotencyModule.forRoot({
        // Reads requests of HTTP, so messages must not be shown to it.
        scope: (request: { headers: Record<string, string> }) => request.headers['x-account'],
        maintenance: false,
        replayCache: false,
        ...idempotency,
      }),
    ],
    controllers: [InboxController, SettledController, ScopedController],
    providers: [Work],
  }).compile();
  const app = testing.createNestApplication({ logger });
  app.useGlobalInterceptors(new Numbering());
  const servers = {
    rabbit: new RabbitServer(),
    kafka: new KafkaServer({}),
    nats: new NatsServer({}),
    redis: new RedisServer({}),
    wire: new Wire(),
  };
  for (const strategy of Object.values(servers)) {
    app.connectMicroservice({ strategy }, { inheritAppConfig: true });
  }
  await app.startAllMicroservices();
  await app.init();
  return {
    app,
    database,
    work: app.get(Work),
    logger,
    ...servers,
    async close() {
      await app.close();
      await database.drop();
    },
  };
}

export const refusedOrder = () => {
  throw new ConflictException('sold out');
};
