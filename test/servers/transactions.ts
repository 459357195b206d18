// Phases inside transactions that somebody else began: each route in another way.
import {
  Catch,
  Controller,
  Injectable,
  Module,
  Post,
  UseInterceptors,
  type ArgumentsHost,
  type CallHandler,
  type ExceptionFilter,
  type ExecutionContext,
  type HttpServer,
  type INestApplication,
  type NestInterceptor,
} from '@nestjs/common';
import {
  ClsPluginTransactional,
  Transactional as ClsTransactional,
} from '@nestjs-cls/transactional';
import { TransactionalAdapterTypeOrm } from '@nestjs-cls/transactional-adapter-typeorm';
import { getDataSourceToken, TypeOrmModule } from '@nestjs/typeorm';
import { ClsModule } from 'nestjs-cls';
import { AtomicPhase, IdempotencyModule, Idempotent } from 'nestjs-atomic-idempotency';
import { from, lastValueFrom, type Observable } from 'rxjs';
import { DataSource, type EntityManager } from 'typeorm';
import {
  addTransactionalDataSource,
  initializeTransactionalContext,
  runInTransaction,
  StorageDriver,
  Transactional,
} from 'typeorm-transactional';
import { serve } from '../support/child-server.js';

/** The phase that every route here starts inside a transaction of somebody else. */
@Injectable()
class Rides {
  constructor(
    private readonly phases: AtomicPhase,
    private readonly dataSource: DataSource,
  ) {}

  local(): Promise<void> {
    return this.phases.local('ride_created', (tx) => note(tx, 'phase'));
  }

  foreign(): Promise<unknown> {
    return this.phases.foreign('charge_created', { call: async () => 'called' });
  }

  @Transactional()
  async inTypeormTransactional(): Promise<void> {
    await note(this.dataSource.manager, 'outer');
    await this.local();
  }

  @ClsTransactional()
  async inCls(): Promise<void> {
    await this.local();
  }
}

@Controller()
class TransactionsController {
  constructor(
    private readonly dataSource: DataSource,
    private readonly rides: Rides,
  ) {}

  @Post('data-source')
  @Idempotent()
  dataSourceTransaction(): Promise<void> {
    return this.dataSource.transaction(async (tx) => {
      await note(tx, 'outer');
      await this.rides.local();
    });
  }

  @Post('foreign')
  @Idempotent()
  foreign(): Promise<unknown> {
    return this.dataSource.transaction(() => this.rides.foreign());
  }

  @Post('query-runner')
  @Idempotent()
  async queryRunner(): Promise<void> {
    const runner = await this.begin();
    try {
      await note(runner.manager, 'outer');
      await this.rides.local();
      await runner.commitTransaction();
    } catch (error) {
      await runner.rollbackTransaction();
      throw error;
    } finally {
      await runner.release();
    }
  }

  @Post('typeorm-transactional/above')
  @Transactional()
  @Idempotent()
  above(): Promise<void> {
    return this.rides.local();
  }

  @Idempotent()
  @Transactional()
  @Post('typeorm-transactional/below')
  below(): Promise<void> {
    return this.rides.local();
  }

  @Post('typeorm-transactional/service')
  @Idempotent()
  service(): Promise<void> {
    return this.rides.inTypeormTransactional();
  }

  @Post('cls/above')
  @ClsTransactional()
  @Idempotent()
  clsAbove(): Promise<void> {
    return this.rides.local();
  }

  @Post('cls/below')
  @Idempotent()
  @ClsTransactional()
  clsBelow(): Promise<void> {
    return this.rides.local();
  }

  @Post('cls/service')
  @Idempotent()
  clsService(): Promise<void> {
    return this.rides.inCls();
  }

  /** A level further down than the handler, as a unit of work would. */
  private async begin() {
    const runner = this.dataSource.createQueryRunner();
    await runner.connect();
    await runner.startTransaction();
    return runner;
  }
}

/** The classic interceptor that gives each request a transaction. */
@Injectable()
class TransactionInterceptor implements NestInterceptor {
  constructor(private readonly dataSource: DataSource) {}

  intercept(_: ExecutionContext, next: CallHandler): Observable<unknown> {
    return from(this.dataSource.transaction(() => lastValueFrom(next.handle())));
  }
}

@Injectable()
class TransactionalInterceptor implements NestInterceptor {
  intercept(_: ExecutionContext, next: CallHandler): Observable<unknown> {
    return from(runInTransaction(() => lastValueFrom(next.handle())));
  }
}

@Controller('around')
@UseInterceptors(TransactionInterceptor)
class InterceptedController {
  constructor(private readonly rides: Rides) {}

  @Post('phased')
  @Idempotent({ phased: true })
  phased(): Promise<void> {
    return this.rides.local();
  }

  @Post('not-phased')
  @Idempotent()
  notPhased(): Promise<void> {
    return this.rides.local();
  }

  @Post('plain')
  @Idempotent()
  plain(): string {
    return 'done';
  }
}

@Controller('around-transactional')
@UseInterceptors(TransactionalInterceptor)
class TransactionalInterceptedController {
  constructor(private readonly rides: Rides) {}

  @Post('phased')
  @Idempotent({ phased: true })
  phased(): Promise<void> {
    return this.rides.local();
  }
}

/** Middleware begins a transaction here, see its test. */
@Controller('behind-middleware')
class BehindMiddlewareController {
  constructor(private readonly rides: Rides) {}

  @Post('phased')
  @Idempotent({ phased: true })
  phased(): Promise<void> {
    return this.rides.local();
  }
}

/** The test reads what went wrong in the answer. */
@Catch()
class ShowErrors implements ExceptionFilter {
  constructor(private readonly adapter: HttpServer) {}

  catch({ name, message }: Error, host: ArgumentsHost): void {
    const response: unknown = host.switchToHttp().getResponse();
    this.adapter.reply(response, { message: `${name}: ${message}` }, 500);
  }
}

/** Begins a transaction two calls deep, and ends it when the answer has left. */
function useTransactionMiddleware(app: INestApplication): void {
  const dataSource = app.get(DataSource);
  const begin = async () => {
    const runner = dataSource.createQueryRunner();
    await runner.connect();
    await runner.startTransaction();
    return runner;
  };
  app.use('/behind-middleware', (_: unknown, response: NodeJS.EventEmitter, next: () => void) => {
    const surround = async () => {
      const runner = await begin();
      const end = async () => {
        await runner.rollbackTransaction();
        await runner.release();
      };
      response.once('finish', () => void end());
      next();
    };
    void surround();
  });
}

async function note(tx: EntityManager, text: string): Promise<void> {
  await tx.query('INSERT INTO notes (note) VALUES ($1)', [text]);
}

@Module({
  imports: [
    TypeOrmModule.forRootAsync({
      useFactory: () => ({
        type: 'postgres',
        url: process.env.DATABASE!,
        poolSize: Number(process.env.CONNECTIONS),
        autoLoadEntities: true,
      }),
      dataSourceFactory: async (options) => addTransactionalDataSource(new DataSource(options!)),
    }),
    // Refusing is correctness and no hint: 'ignore' must not switch it off.
    IdempotencyModule.forRoot({
      scope: 'global',
      required: false,
      maintenance: false,
      foreignCalls: 'ignore',
      storeTimeout: process.env.STORE_TIMEOUT ?? '30s',
    }),
    ClsModule.forRoot({
      middleware: { mount: true },
      plugins: [
        new ClsPluginTransactional({
          adapter: new TransactionalAdapterTypeOrm({ dataSourceToken: getDataSourceToken() }),
        }),
      ],
    }),
  ],
  controllers: [
    TransactionsController,
    InterceptedController,
    TransactionalInterceptedController,
    BehindMiddlewareController,
  ],
  providers: [Rides],
})
class TransactionsModule {}

initializeTransactionalContext({ storageDriver: StorageDriver.ASYNC_LOCAL_STORAGE });
await serve(TransactionsModule, {
  configure(app) {
    app.useGlobalFilters(new ShowErrors(app.getHttpAdapter()));
    useTransactionMiddleware(app);
  },
});
