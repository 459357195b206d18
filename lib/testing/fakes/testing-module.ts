import { Module, type DynamicModule } from '@nestjs/common';
import {
  exportedForTests,
  provideIdempotencyForTests,
  type IdempotencyForTestsOptions,
} from './provide-for-tests.js';

/** `provideIdempotencyForTests()` for all modules of a test: import it beside them. */
@Module({})
export class IdempotencyTestingModule {
  static forTests(options: IdempotencyForTestsOptions = {}): DynamicModule {
    return {
      module: IdempotencyTestingModule,
      global: true,
      providers: provideIdempotencyForTests(options),
      exports: exportedForTests,
    };
  }
}
