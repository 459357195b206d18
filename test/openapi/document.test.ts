import { Module, RequestMethod, VersioningType, type INestApplication } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { SwaggerModule, type OpenAPIObject } from '@nestjs/swagger';
import { TypeOrmModule } from '@nestjs/typeorm';
import {
  IdempotencyModule,
  idempotencyEntities,
  type IdempotencyModuleExtras,
  type IdempotencyModuleOptions,
} from 'nestjs-atomic-idempotency';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { startIdempotentApp, type IdempotentAppOptions } from '../support/idempotent-app.js';
import { onEachPlatform, type Platform } from '../support/platforms.js';
import { documentOf, faultsOf, NotesController, OrdersController } from './shop.js';

type Options = Partial<IdempotencyModuleOptions> & IdempotencyModuleExtras;

describe('The OpenAPI document', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());

  onEachPlatform((platform) => {
    let document: OpenAPIObject;
    beforeAll(async () => {
      // Made before the application is initialised, as main.ts does it.
      document = await documentedBy(platform, {
        idempotency: {
          scope: (request: { user: string }) => request.user,
          statusPath: 'operations',
          discovery: true,
          operatorPage: { path: 'operator', guards: [{ canActivate: () => true }] },
        } as Options,
        configure: (app) => {
          app.setGlobalPrefix('api');
          app.enableVersioning({ type: VersioningType.URI });
        },
      });
    });

    const post = (path: string, method = 'post') =>
      operation(document, `/api/v1/orders${path}`, method);

    it('is valid', async () => {
      expect(await faultsOf(document)).toEqual([]);
    });

    it('shows the header, its shape and whether it is required', () => {
      expect(headersOf(post(''))).toEqual([
        {
          name: 'Idempotency-Key',
          in: 'header',
          required: true,
          description: expect.stringContaining('Unique to the operation'),
          schema: {
            type: 'string',
            minLength: 1,
            maxLength: 255,
            pattern: expect.any(String),
            example: expect.any(String),
          },
        },
      ]);
      const { pattern, example } = headersOf(post(''))[0].schema;
      expect(example).toMatch(new RegExp(pattern, 'u'));
      for (const wrong of ['', 'a b', 'a,b', 'é', 'x'.repeat(256)]) {
        expect(wrong).not.toMatch(new RegExp(pattern, 'u'));
      }
      expect(headersOf(post('/replaced', 'put'))).toEqual([
        expect.objectContaining({ required: false }),
      ]);
      expect(headersOf(post('/demanding', 'put'))).toEqual([
        expect.objectContaining({ required: true }),
      ]);
      expect(headersOf(post('/by-reference'))).toEqual([]);
      expect(headersOf(post('/plain'))).toEqual([]);
    });

    it('lists the header once where the handler reads it as well', () => {
      expect(headersOf(post('/optional'))).toEqual([
        expect.objectContaining({
          name: 'idempotency-key',
          required: false,
          schema: expect.objectContaining({ maxLength: 255 }),
        }),
      ]);
    });

    it('shows the answers of the library, with their codes, schemas, examples and headers', () => {
      const { responses } = post('');
      expect(codesOf(responses)).toEqual({
        400: ['key_missing', 'key_invalid', 'body_invalid'],
        403: ['scope_missing'],
        408: ['unfinished'],
        409: ['in_progress', 'outcome_unknown', 'given_up', 'lease_lost'],
        410: ['response_unavailable'],
        422: ['key_reused'],
        503: ['store_unavailable'],
      });
      const { 'application/problem+json': conflict } = responses[409].content;
      expect(conflict.schema.allOf[0]).toEqual({ $ref: '#/components/schemas/IdempotencyProblem' });
      expect(conflict.examples.in_progress.value).toMatchObject({
        status: 409,
        code: 'in_progress',
      });
      const withRetryAfter = Object.keys(responses).filter(
        (status) => responses[status].headers?.['Retry-After'],
      );
      expect(withRetryAfter).toEqual(['409', '503']);
      expect(document.components!.schemas!.IdempotencyProblem).toMatchObject({
        type: 'object',
        required: ['type', 'title', 'status', 'detail', 'code', 'retryable'],
      });
    });

    it('shows only the answers that the policy of a route allows', () => {
      expect(codesOf(post('/optional').responses)).toMatchObject({
        400: ['key_invalid', 'body_invalid'],
      });
      expect(codesOf(post('/waiting').responses)).toMatchObject({
        410: ['expired', 'response_unavailable'],
      });
      const { responses } = post('/accepting');
      expect(codesOf(responses)[409]).toEqual(['outcome_unknown', 'given_up', 'lease_lost']);
      expect(responses[202].headers).toMatchObject({
        'Retry-After': { schema: { type: 'integer' } },
        Location: { schema: { example: '/api/operations/42' } },
      });
      expect(responses[202].content['application/json'].schema.required).toEqual([
        'status',
        'detail',
      ]);
      expect(post('').responses[202]).toBeUndefined();
    });

    it('adds the headers of a replay to the answers of the application', () => {
      expect(Object.keys(post('').responses[201].headers).toSorted()).toEqual([
        'Idempotency-Key-Expires',
        'Idempotent-Replayed',
        'X-Cost',
      ]);
      expect(post('').responses[201].content['application/json'].schema).toEqual({
        $ref: '#/components/schemas/Order',
      });
      // Kept for ever, so there is no end to tell.
      expect(Object.keys(post('/optional').responses[200].headers)).toEqual([
        'Idempotent-Replayed',
      ]);
    });

    it('tells retention and policy after what the application says', () => {
      expect(post('').summary).toBe('Orders something');
      expect(post('').description).toMatch(/^It is shipped at once\.\n\n\*\*Idempotent\.\*\* /);
      expect(post('').description).toContain(
        'For 24 hours after that, a retry gets the same answer.',
      );
      expect(post('/waiting').description).toContain('for up to 20 seconds');
      expect(post('/waiting').description).toContain('For 7 days after that');
      expect(post('/waiting').description).toContain('A later one is refused.');
      expect(post('/optional').description).toContain('however late it comes');
      expect(post('/optional').description).toContain('if the request may be retried');
      expect(post('/by-reference').description).toContain('part of the request itself');
      expect(post('/plain').description).toBeUndefined();
    });

    it('leaves what the application has described as it is', () => {
      const own = post('/described');
      expect(headersOf(own)).toEqual([
        expect.objectContaining({ name: 'idempotency-key', description: 'Ours.', required: false }),
      ]);
      expect(own.responses[409].description).toBe('Out of stock.');
      expect(own.responses[409].content).toBeUndefined();
      expect(own.responses[422]).toBeDefined();
      expect(own).toMatchObject({ 'x-fern-idempotent': 'by hand', 'x-owner': 'orders' });
      // The class's own, and not the library's.
      const { 503: ofClass } = operation(document, '/api/notes', 'post').responses;
      expect(ofClass).toEqual({ description: 'Ours, for the whole class.' });
    });

    it('covers the routes of a decorated class, and keeps what the compiler plug-in found', () => {
      const add = operation(document, '/api/notes', 'post');
      expect(add.summary).toBe('Adds a note');
      expect(add.description).toMatch(/^From a comment\.\n\n\*\*Idempotent/);
      expect(add.description).toContain('For 1 hour');
      expect(add.responses[201].content['application/json'].schema.$ref).toMatch(/Order$/);
      const change = operation(document, '/api/notes', 'patch');
      expect(change.responses[200].content['application/json'].schema.type).toBe('array');
      expect(headersOf(change)).toHaveLength(1);
      expect(headersOf(operation(document, '/api/notes', 'get'))).toEqual([]);
    });

    it('tells of @All() which methods take a key', () => {
      for (const method of ['get', 'post', 'delete']) {
        expect(headersOf(post('/anything', method))).toEqual([
          expect.objectContaining({ required: false }),
        ]);
        expect(post('/anything', method).description).toContain('POST and PATCH require a key');
      }
    });

    it('tells Fern which operations are idempotent, and by which header', () => {
      expect(post('')['x-fern-idempotent']).toBe(true);
      expect(post('/by-reference')).not.toHaveProperty('x-fern-idempotent');
      expect(post('/plain')).not.toHaveProperty('x-fern-idempotent');
      expect(document).toMatchObject({
        'x-fern-idempotency-headers': [{ header: 'Idempotency-Key', name: 'idempotency_key' }],
      });
    });

    it('shows the status route, and neither hidden routes nor the pages for people', () => {
      const status = operation(document, '/api/operations/{id}', 'get');
      expect(status.responses[200].content['application/json'].schema).toEqual({
        $ref: '#/components/schemas/IdempotencyProgress',
      });
      expect(Object.keys(document.paths)).not.toContain('/api/v1/orders/hidden');
      expect(
        Object.keys(document.paths).filter((path) => /operator|well-known/.test(path)),
      ).toEqual([]);
    });
  });

  describe('in applications of one process', () => {
    onEachPlatform(
      (platform) => {
        it('shows the options of each, in whichever order they are made and asked', async () => {
          const apps = await Promise.all([
            started(platform, { idempotency: { header: 'X-One', retention: '1d' } }),
            started(platform, {
              idempotency: { header: 'X-Two', dialect: 'stripe', retention: '2d' },
            }),
            started(platform, { idempotency: { openapi: false } }),
          ]);
          for (const [index, { app }] of [...apps.entries(), ...apps.entries()]) {
            const { 'x-fern-idempotency-headers': _, ...document } = documentOf(app) as any;
            const order = operation(document, '/orders', 'post');
            const names = headersOf(order).map(({ name }) => name);
            expect(names).toEqual([['X-One'], ['X-Two'], []][index]);
            expect(order.description).toContain(['24 hours', '2 days', 'shipped at once'][index]);
            const media = Object.keys(order.responses[409]?.content ?? {});
            expect(media).toEqual([['application/problem+json'], ['application/json'], []][index]);
            expect(await faultsOf(document)).toEqual([]);
          }
          await Promise.all(apps.map((app) => app.close()));
        });

        it('shows the module that serves a route, if there are two', async () => {
          const ledger = await createTestDatabase();
          const part = (header: string, dataSource: string | undefined, controller: any) => {
            @Module({
              imports: [
                IdempotencyModule.forRoot({
                  scope: 'global',
                  maintenance: false,
                  isGlobal: false,
                  header,
                  ...(dataSource !== undefined && { dataSource }),
                }),
              ],
              controllers: [controller],
            })
            class Part {}
            return Part;
          };
          const { app, close } = await platform.start({
            imports: [
              TypeOrmModule.forRoot({ ...database.dataSourceOptions, autoLoadEntities: true }),
              TypeOrmModule.forRoot({
                ...ledger.dataSourceOptions,
                name: 'ledger',
                entities: [...idempotencyEntities],
              }),
              part('X-Orders', undefined, OrdersController),
              part('X-Notes', 'ledger', NotesController),
            ],
          });
          const document = documentOf(app);
          expect(headersOf(operation(document, '/orders', 'post'))[0].name).toBe('X-Orders');
          expect(headersOf(operation(document, '/notes', 'post'))[0].name).toBe('X-Notes');
          await close();
          await ledger.drop();
        });

        it('says nothing with openapi: false', async () => {
          const app = await started(platform, { idempotency: { openapi: false } });
          const document = documentOf(app.app);
          expect(Object.keys(operation(document, '/orders', 'post').responses)).toEqual(['201']);
          expect(operation(document, '/orders', 'post')).not.toHaveProperty('x-fern-idempotent');
          await app.close();
        });

        it('is valid as OpenAPI 3.1, and with parts of the application left out', async () => {
          const app = await started(platform, {
            configure: (made) => {
              made.setGlobalPrefix('api', {
                exclude: [{ path: 'orders', method: RequestMethod.POST }],
              });
            },
          });
          const document = documentOf(app.app, '3.1.0');
          expect(await faultsOf(document)).toEqual([]);
          expect(headersOf(operation(document, '/orders', 'post'))).toHaveLength(1);
          const without = SwaggerModule.createDocument(app.app, {} as never, {
            ignoreGlobalPrefix: true,
          });
          expect(headersOf(operation(without, '/notes', 'post'))).toHaveLength(1);
          await app.close();
        });

        it("describes an application's own errors by samples of them", async () => {
          const calls: string[] = [];
          const app = await started(platform, {
            idempotency: {
              dialect: ({ code, status, retryAfter }) => {
                calls.push(code);
                return {
                  status: status === 422 ? 409 : status,
                  headers: { 'content-type': 'application/vnd.shop+json' },
                  body: { ok: false, errors: [{ code, wait: retryAfter ?? null }] },
                };
              },
            },
          });
          // The reaper's answer, at boot.
          expect([...new Set(calls)]).toEqual(['unfinished']);
          const document = documentOf(app.app);
          const { 409: conflict, 422: none } = operation(document, '/orders', 'post').responses;
          expect(none).toBeUndefined();
          expect(conflict.description).toContain('key_reused');
          expect(conflict.content['application/vnd.shop+json'].schema).toEqual({
            type: 'object',
            properties: {
              ok: { type: 'boolean' },
              errors: {
                type: 'array',
                items: {
                  type: 'object',
                  properties: {
                    code: { type: 'string' },
                    wait: { type: 'integer', nullable: true },
                  },
                  required: ['code', 'wait'],
                },
              },
            },
            required: ['ok', 'errors'],
          });
          expect(await faultsOf(document)).toEqual([]);
          await app.close();
        });
      },
      // The adapters have no part in it.
      ['express'],
    );
  });

  function started(
    platform: Platform,
    options: Omit<IdempotentAppOptions, 'idempotency'> & { idempotency?: Options },
  ) {
    return startIdempotentApp(platform, {
      database,
      controllers: [OrdersController, NotesController],
      ...options,
    });
  }

  async function documentedBy(
    platform: Platform,
    { configure, ...options }: Parameters<typeof started>[1],
  ): Promise<OpenAPIObject> {
    let document: OpenAPIObject | undefined;
    const app = await started(platform, {
      ...options,
      configure: async (made: INestApplication) => {
        await configure?.(made);
        document = documentOf(made);
      },
    });
    await app.close();
    return document!;
  }
});

function operation(document: OpenAPIObject, path: string, method: string): any {
  const found = document.paths[path]?.[method as 'get'];
  if (!found)
    throw new Error(`No ${method} ${path} among ${Object.keys(document.paths).join(', ')}`);
  return found;
}

function headersOf({ parameters = [] }: { parameters?: any[] }): any[] {
  return parameters.filter((parameter) => parameter.in === 'header');
}

/** The problem codes of each response. */
function codesOf(responses: Record<string, any>): Record<string, string[]> {
  return Object.fromEntries(
    Object.entries(responses)
      .filter(([, { content }]) => content?.['application/problem+json'])
      .map(([status, { content }]) => [
        status,
        content['application/problem+json'].schema.allOf[1].properties.code.enum,
      ]),
  );
}
