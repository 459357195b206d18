import type { INestApplicationContext } from '@nestjs/common';
import { IdempotencySettings } from './idempotency.settings.js';

/**
 * The value of `x-fern-idempotency-headers`, by which Fern's generators of clients
 * know the header of keys. It belongs to the root of a document, which only the
 * application can write: `new DocumentBuilder().addExtension(…)`.
 */
export function fernIdempotencyHeaders(
  app: INestApplicationContext,
): { header: string; name: string }[] {
  const { header } = app.get(IdempotencySettings, { strict: false });
  return [{ header, name: header.toLowerCase().replaceAll(/[^a-z0-9]+/g, '_') }];
}
