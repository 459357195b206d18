import { randomUUID } from 'node:crypto';
import { Controller, Post } from '@nestjs/common';
import { Idempotent } from 'nestjs-atomic-idempotency';
import { send, type Received } from './http.js';
import { until } from './until.js';

/** A route that answers at once, as long as the application begins anything new. */
@Controller('probe')
export class ShutdownProbe {
  @Post()
  @Idempotent()
  probe(): object {
    return {};
  }
}

/** Resolves when the application has begun to shut down, with what it says to new requests. */
export function untilShutdown(url: string): Promise<Received> {
  return until(async () => {
    const answer = await send(`${url}/probe`, { key: randomUUID() });
    return answer.status === 503 ? answer : undefined;
  }, 'shutdown');
}
