// An application of CommonJS that uses a library of ES modules, each with its own
// copy of the package: it must not start, and say why.
import { match, rejects } from 'node:assert/strict';
import { createRequire } from 'node:module';
import 'nestjs-atomic-idempotency';

const require = createRequire(import.meta.url);
const { NestFactory } = require('@nestjs/core');
const { AppModule } = require('./dist/app.module.js');

await rejects(NestFactory.create(AppModule, { abortOnError: false, logger: false }), (error) => {
  match(error.name, /^IdempotencyConfigurationError$/);
  match(error.message, /2 copies of nestjs-atomic-idempotency/);
  match(error.message, /dist\/lib \(ES modules\) and .*dist\/cjs\/lib \(CommonJS\)/);
  return true;
});
