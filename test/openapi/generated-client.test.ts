import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { Body, Controller, Post, VersioningType } from '@nestjs/common';
import { expect, it, beforeAll } from '@jest/globals';
import { ApiCreatedResponse, type OpenAPIObject } from '@nestjs/swagger';
import createClient from 'openapi-fetch';
import { Idempotent } from 'nestjs-atomic-idempotency';
import openapiTS, { astToString } from 'openapi-typescript';
import { startIdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import type { components, paths } from './generated/shop-api.js';
import { documentOf, NewOrder, Order } from './shop.js';

@Controller({ path: 'orders', version: '1' })
class OrdersController {
  @Post()
  @Idempotent()
  @ApiCreatedResponse({ type: Order })
  create(@Body() { sku }: NewOrder): Order {
    return { id: 1, sku };
  }

  @Post('optional')
  @Idempotent({ required: false })
  optional(): void {}
}

const GENERATED = fileURLToPath(new URL('./generated/shop-api.ts', import.meta.url));

forEachPlatform('A client that was generated from the document', (platform) => {
  let document: OpenAPIObject;
  let client: ReturnType<typeof createClient<paths>>;
  beforeAll(async () => {
    const { app, url } = await startIdempotentApp(platform, {
      controllers: [OrdersController],
      configure: (made) => {
        made.setGlobalPrefix('api');
        made.enableVersioning({ type: VersioningType.URI });
      },
    });
    document = documentOf(app);
    client = createClient<paths>({ baseUrl: url });
  });

  // The compiler checks this file with it, so it is in the repository. After a change of the
  // document: `GENERATE=1 npm test -- test/openapi/generated-client`.
  it('is the one in the repository', async () => {
    const made = astToString(await openapiTS(JSON.stringify(document)));
    if (process.env.GENERATE) await writeFile(GENERATED, made);
    expect(await readFile(GENERATED, 'utf8')).toBe(made);
  });

  it('has the key as a typed parameter, and reads the headers of a replay', async () => {
    const order = (key: string, sku: string) =>
      client.POST('/api/v1/orders', {
        params: { header: { 'Idempotency-Key': key } },
        body: { sku },
      });
    const first = await order(`${platform.name}-0198-order`, 'book');
    const retry = await order(`${platform.name}-0198-order`, 'book');
    expect(first.response.status).toBe(201);
    expect(retry.data).toEqual(first.data);
    expect(retry.data?.sku).toBe('book');
    expect(retry.response.headers.get('idempotent-replayed')).toBe('true');
    expect(retry.response.headers.has('idempotency-key-expires')).toBe(true);
  });

  it('cannot leave the key out unnoticed', async () => {
    // @ts-expect-error: the header is required.
    const { error } = await client.POST('/api/v1/orders', { body: { sku: 'book' } });
    expect(error).toMatchObject({ code: 'key_missing', status: 400 });
    const optional = await client.POST('/api/v1/orders/optional', {});
    expect(optional.response.status).toBe(201);
  });

  it('has typed problems, told apart by their codes', async () => {
    const key = `${platform.name}-0198-reused`;
    const sent = (sku: string) =>
      client.POST('/api/v1/orders', {
        params: { header: { 'Idempotency-Key': key } },
        body: { sku },
      });
    await sent('book');
    const { error } = await sent('pen');
    // Compiled: every code that is compared has to be one of the document's.
    const problem: components['schemas']['IdempotencyProblem'] | undefined = error;
    expect(problem?.code === 'key_reused').toBe(true);
    // @ts-expect-error: there is no such code.
    expect(problem?.code === 'no_such_code').toBe(false);
    expect(problem?.retryable).toBe(false);
    type Conflict =
      paths['/api/v1/orders']['post']['responses'][409]['content']['application/problem+json'];
    const codes: Record<Conflict['code'], true> = {
      in_progress: true,
      outcome_unknown: true,
      given_up: true,
      lease_lost: true,
    };
    expect(Object.keys(codes)).not.toContain(problem?.code);
    type RetryAfter = paths['/api/v1/orders']['post']['responses'][409]['headers']['Retry-After'];
    const seconds: RetryAfter = 1;
    expect(seconds).toBe(1);
  });
});
