// An application of ES modules that uses a library of CommonJS, each with its own
// copy of the package: it must not start, and say why.
import { match, rejects } from 'node:assert/strict';
import { createRequire } from 'node:module';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './dist/app.module.js';

createRequire(import.meta.url)('nestjs-atomic-idempotency');

await rejects(NestFactory.create(AppModule, { abortOnError: false, logger: false }), (error) => {
  match(error.name, /^IdempotencyConfigurationError$/);
  match(error.message, /2 copies of nestjs-atomic-idempotency/);
  match(error.message, /dist\/lib \(ES modules\) and .*dist\/cjs\/lib \(CommonJS\)/);
  return true;
});
