import { Module, ValidationPipe, type DynamicModule, type Type } from '@nestjs/common';
import { APP_PIPE } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { IdempotencyModule } from 'nestjs-atomic-idempotency';
import type { AuthenticatedRequest } from './auth/bearer-token.guard.js';
import { OperatorGuard, type OperatorRequest } from './auth/operator.guard.js';
import {
  OPERATOR_PATH,
  SAMPLE_PASSWORD,
  SAMPLE_SECRET,
  type Configuration,
} from './configuration.js';
import { dataSourceOptions } from './database/data-source.js';
import { PaymentsModule } from './payments/payments.module.js';
import { RidesModule } from './rides/rides.module.js';
import { TipsModule } from './tips/tips.module.js';

@Module({})
export class AppModule {
  /** @param waysIn what else than HTTP routes leads to the rides */
  static forRoot(configuration: Configuration, waysIn: Type[] = []): DynamicModule {
    return {
      module: AppModule,
      imports: [
        TypeOrmModule.forRoot({
          ...dataSourceOptions(configuration.databaseUrl),
          autoLoadEntities: true,
        }),
        IdempotencyModule.forRoot({
          // The user, not the token: a refreshed token must find its keys again.
          scope: (request: AuthenticatedRequest) => request.user?.id,
          // A new route has to say whether a retry is safe.
          coverage: 'error',
          lease: configuration.lease,
          ...(configuration.maintenance === false && { maintenance: false }),
          operatorPage: {
            path: OPERATOR_PATH,
            guards: [new OperatorGuard(configuration.operatorPassword ?? SAMPLE_PASSWORD)],
            access: ({ operator }: OperatorRequest) =>
              operator === undefined ? undefined : { who: operator, may: 'all' },
            environment: 'sample',
          },
        }),
        PaymentsModule.forRoot({
          url: configuration.paymentsUrl,
          timeoutMs: configuration.paymentsTimeoutMs,
          webhookSecret: configuration.webhookSecret ?? SAMPLE_SECRET,
        }),
        RidesModule,
        TipsModule,
        ...waysIn,
      ],
      providers: [
        {
          provide: APP_PIPE,
          useValue: new ValidationPipe({
            transform: true,
            forbidNonWhitelisted: true,
            whitelist: true,
          }),
        },
      ],
    };
  }
}
