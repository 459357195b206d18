import { ConfigurableModuleBuilder } from '@nestjs/common';
import type { IdempotencyModuleExtras, IdempotencyModuleOptions } from './idempotency.options.js';

export const {
  ConfigurableModuleClass,
  MODULE_OPTIONS_TOKEN: IDEMPOTENCY_OPTIONS,
  OPTIONS_TYPE,
  ASYNC_OPTIONS_TYPE,
} = new ConfigurableModuleBuilder<IdempotencyModuleOptions>({ moduleName: 'Idempotency' })
  .setClassMethodName('forRoot')
  .setFactoryMethodName('createIdempotencyOptions')
  .setExtras<IdempotencyModuleExtras>(
    {
      isGlobal: true,
      dataSource: undefined,
      schema: undefined,
      statusPath: undefined,
      statusGuards: undefined,
      discovery: undefined,
      operatorPage: undefined,
    },
    (definition, { isGlobal }) => ({ ...definition, global: isGlobal }),
  )
  .build();
