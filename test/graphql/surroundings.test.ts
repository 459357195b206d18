import { createRequire } from 'node:module';
import {
  Catch,
  ConflictException,
  Injectable,
  UseFilters,
  UseInterceptors,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { Args, Mutation, Query, ResolveField, Resolver, Subscription } from '@nestjs/graphql';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { GraphQLError } from 'graphql';
import { createClient } from 'graphql-ws';
import { IdempotencyCoverage, Idempotent } from 'nestjs-atomic-idempotency';
import { map, type Observable } from 'rxjs';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { startIdempotentApp } from '../support/idempotent-app.js';
import { bootFailure } from '../module/boot-failure.js';
import { onEachPlatform } from '../support/platforms.js';
import { graphql, mutate, startShop, type Shop } from './shop.js';

const refused = (code: string, message: RegExp | string = '') => [
  expect.objectContaining({
    message: expect.stringMatching(message),
    extensions: expect.objectContaining({ code }),
  }),
];

/** Around the library's, as all of a class are. */
@Injectable()
class Exclaim implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(map((text: string) => `${text.toUpperCase()}!`));
  }
}

/** Of the handler. */
@Injectable()
class Wrap implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(map((text) => `<${String(text)}>`));
  }
}

@Catch(GraphQLError)
class Rename {
  catch(error: GraphQLError): Error {
    const extensions = { ...error.extensions, renamed: true };
    throw new GraphQLError(`caught: ${error.message}`, { extensions });
  }
}

let runs = 0;

@Resolver()
@Idempotent({ required: false })
@UseInterceptors(Exclaim)
class TextsResolver {
  @Query(() => String)
  text(): string {
    return 'none';
  }

  @Mutation(() => String)
  @UseInterceptors(Wrap)
  write(@Args('text') text: string): string {
    runs += 1;
    return text;
  }

  @Mutation(() => String)
  @UseFilters(Rename)
  refuse(@Args('text') text: string): string {
    runs += 1;
    throw new GraphQLError(text, { extensions: { code: 'REFUSED' } });
  }

  @Mutation(() => String)
  @Idempotent({ key: ({ text }) => text as string, scope: 'global' })
  own(@Args('text') text: string): string {
    runs += 1;
    return text;
  }

  @Mutation(() => String)
  @Idempotent({ key: ({ text }) => text as string, scope: 'global', onServerError: 'store' })
  broken(@Args('text') text: string): string {
    runs += 1;
    throw new TypeError(text);
  }

  @Mutation(() => String)
  @Idempotent({
    fingerprint: ({ text }, { req }, { fieldName }) => [text, typeof req, fieldName],
    skip: ({ dry }) => dry as boolean,
  })
  sent(@Args('text') text: string, @Args('at') at: string, @Args('dry') dry: boolean): string {
    runs += 1;
    return `${text} ${at} ${dry}`;
  }
}

describe('Mutations and what is around them', () => {
  describe('with Apollo', () => {
    onEachPlatform((platform) => {
      let url: string;
      let close: () => Promise<void>;
      let coverage: IdempotencyCoverage;
      beforeAll(async () => {
        const app = await startIdempotentApp(platform, {
          logger: false,
          imports: [
            graphql('apollo', {
              formatError: ({ message, extensions }) => ({
                message: `formatted: ${message}`,
                ...(extensions && { extensions }),
              }),
            }),
          ],
          providers: [TextsResolver],
        });
        ({ url, close } = app);
        coverage = app.app.get(IdempotencyCoverage);
      });
      afterAll(() => close?.());
      beforeEach(() => {
        runs = 0;
      });

      it('pass their recorded value through the interceptors around them', async () => {
        for (let call = 1; call <= 2; call++) {
          const { data } = await mutate(url, 'mutation { write(text: "hi") }', { key: 'values' });
          expect(data).toEqual({ write: '<HI>!' });
        }
        expect(runs).toBe(1);
      });

      it('pass errors to the filters and to formatError, the first time and again', async () => {
        for (let call = 1; call <= 2; call++) {
          const { errors } = await mutate(url, 'mutation { refuse(text: "no") }', {
            key: 'errors',
          });
          expect(errors).toEqual([
            expect.objectContaining({
              message: 'formatted: caught: no',
              extensions: expect.objectContaining({ code: 'REFUSED', renamed: true }),
            }),
          ]);
        }
        expect(runs).toBe(1);
        const other = await mutate(url, 'mutation { refuse(text: "other") }', { key: 'errors' });
        expect(other.errors).toEqual(refused('key_reused', /^formatted: This key was used before/));
      });

      it('keep an error without a code where the policy stores it', async () => {
        for (let call = 1; call <= 2; call++) {
          const { errors } = await mutate(url, 'mutation { broken(text: "kept") }');
          expect(errors).toEqual(refused('INTERNAL_SERVER_ERROR', 'formatted: kept'));
        }
        expect(runs).toBe(1);
      });

      it('follow the functions of their policy', async () => {
        const sent = (at: string, dry = false) =>
          mutate(url, `mutation { sent(text: "x", at: "${at}", dry: ${dry}) }`, { key: 'policy' });
        expect((await sent('1')).data).toEqual({ sent: 'X 1 FALSE!' });
        expect((await sent('2')).data).toEqual({ sent: 'X 1 FALSE!' });
        expect((await sent('3', true)).data).toEqual({ sent: 'X 3 TRUE!' });
        expect(runs).toBe(2);
      });

      it('are in the audit', () => {
        expect(coverage.missing).toEqual([]);
        expect(coverage.entries.map(({ kind, name }) => `${kind} ${name}`)).toEqual(
          ['write', 'refuse', 'own', 'broken', 'sent'].map((name) => `mutation ${name}`),
        );
      });
    });
  });

  describe('over a WebSocket', () => {
    onEachPlatform((platform) => {
      let shop: Shop;
      let connect: (user: string) => (query: string) => Promise<unknown>;
      const clients: { dispose(): void | Promise<void> }[] = [];
      beforeAll(async () => {
        shop = await startShop(platform, 'apollo', {
          driverOptions: { subscriptions: { 'graphql-ws': true } },
        });
        const url = `${shop.url.replace('http', 'ws')}/graphql`;
        // Node has a WebSocket of its own from version 22 on.
        const webSocketImpl: unknown = createRequire(import.meta.url)('ws');
        connect = (user) => {
          const client = createClient({ url, webSocketImpl, connectionParams: { user } });
          clients.push(client);
          return async (query) => {
            const { value } = await client.iterate({ query }).next();
            return value;
          };
        };
      });
      afterAll(async () => {
        for (const client of clients) await client.dispose();
        await shop?.close();
      });

      it('take their key from an argument, and their scope from the connection', async () => {
        shop.desk.work = ({ text }) => `${text} ${shop.desk.runs}`;
        const ada = connect('ada');
        const document = 'mutation { remind(reference: "ws", text: "run") }';
        expect(await ada(document)).toEqual({ data: { remind: 'run 1' } });
        expect(await ada(document)).toEqual({ data: { remind: 'run 1' } });
        expect((await shop.mutate(document)).data).toEqual({ remind: 'run 1' });
        expect(await connect('bob')(document)).toEqual({ data: { remind: 'run 2' } });
      });

      it('have no header, and say so', async () => {
        const ada = connect('ada');
        expect(await ada('mutation { cancel(id: "1") }')).toMatchObject({
          errors: refused('key_missing', /over a WebSocket does not have. Send it in an HTTP/),
        });
        shop.desk.work = (item) => `sent ${item}`;
        expect(await ada('mutation { ship(item: "tea") }')).toEqual({ data: { ship: 'sent tea' } });
      });
    });
  });

  describe.each(['apollo', 'mercurius'] as const)(
    'with %s and a context of their own',
    (driver) => {
      onEachPlatform(
        (platform) => {
          it('need the request in it, or nothing of it', async () => {
            runs = 0;
            const app = await startIdempotentApp(platform, {
              logger: false,
              idempotency: { scope: (request: { user: string }) => request.user },
              imports: [graphql(driver, { context: () => ({ req: { caller: 'ada' } }) as never })],
              providers: [TextsResolver],
            });
            const { errors } = await mutate(app.url, 'mutation { write(text: "hi") }', {
              key: 'k',
            });
            expect(errors![0]!.message).toMatch(
              /TextsResolver.write: the GraphQL context has no request, but its key is in a header.*`context` option of GraphQLModule return an object with the request as `req`/,
            );
            const { data } = await mutate(app.url, 'mutation { own(text: "hi") }');
            expect(data).toEqual({ own: 'HI!' });
            await app.close();
          });
        },
        ['fastify'],
      );
    },
  );

  describe('with Mercurius and its compiler', () => {
    onEachPlatform(
      (platform) => {
        it('are the same', async () => {
          const shop = await startShop(platform, 'mercurius', { driverOptions: { jit: 1 } });
          shop.desk.work = ({ item }) => {
            if (item === 'none') throw new ConflictException('Sold out.');
            return shop.desk.order(item);
          };
          const document = `mutation ($a: OrderInput!, $b: OrderInput!) {
            a: createOrder(input: $a) { id createdAt label lines { order { total } } }
            b: createOrder(input: $b) { id }
          }`;
          const variables = { a: { item: 'a', quantity: 1 }, b: { item: 'none', quantity: 1 } };
          const answers = [];
          for (let call = 1; call <= 4; call++) {
            const { data, errors } = await shop.mutate(document, { key: 'compiled', variables });
            answers.push({ data, errors: errors!.map(({ message }) => message) });
          }
          expect(answers[0]).toMatchObject({ data: { a: { id: '1' } }, errors: ['Sold out.'] });
          expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
          expect(shop.desk.runs).toBe(2);
          await shop.close();
        });
      },
      ['fastify'],
    );
  });

  describe('with a schema that is written first', () => {
    onEachPlatform(
      (platform) => {
        it('are found by their names', async () => {
          let called = 0;
          @Resolver('Order')
          class Orders {
            @Query('orders')
            orders(): string[] {
              return [];
            }

            @Mutation('placeOrder')
            @Idempotent()
            place(@Args('item') item: string): object {
              return { item, made: new Date(0), number: ++called, kind: 'Gift' };
            }

            @ResolveField('year')
            year({ made }: { made: Date }): number {
              return made.getUTCFullYear();
            }

            @ResolveField('__resolveType')
            kindOf({ kind }: { kind: string }): string {
              return kind;
            }
          }
          const app = await startIdempotentApp(platform, {
            imports: [
              graphql('apollo', {
                autoSchemaFile: false,
                typeDefs: `
                interface Order { item: String!, number: Int!, year: Int }
                type Gift implements Order { item: String!, number: Int!, year: Int }
                type Query { orders: [String] }
                type Mutation { placeOrder(item: String!): Order! }`,
                inheritResolversFromInterfaces: true,
              } as never),
            ],
            providers: [Orders],
          });
          const document = 'mutation { placeOrder(item: "tea") { __typename item number year } }';
          for (let call = 1; call <= 2; call++) {
            expect((await mutate(app.url, document, { key: 'first' })).data).toEqual({
              placeOrder: { __typename: 'Gift', item: 'tea', number: 1, year: 1970 },
            });
          }
          const rows = await app.database.query('SELECT endpoint FROM idempotency_keys');
          expect(rows).toEqual([{ endpoint: 'MUTATION placeOrder' }]);
          await app.close();
        });
      },
      ['express'],
    );
  });
});

describe('@Idempotent() on what is no mutation', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database?.drop());

  it.each([
    ['@Query()', Query(() => String), 'a GraphQL query, subscription or field'],
    ['@Subscription()', Subscription(() => String), 'a GraphQL query, subscription or field'],
    ['@ResolveField()', ResolveField('note', () => String), 'a field of a GraphQL type'],
  ])('is an error at boot: %s', async (_what, decorate, why) => {
    class Notes {
      note(): string {
        return '';
      }
    }
    const descriptor = Object.getOwnPropertyDescriptor(Notes.prototype, 'note')!;
    (decorate as MethodDecorator)(Notes.prototype, 'note', descriptor);
    Idempotent()(Notes.prototype, 'note', descriptor);
    Object.defineProperty(Notes.prototype, 'note', descriptor);
    Resolver()(Notes);
    const { message } = await bootFailure({ database, providers: [Notes] });
    expect(message).toContain('@Idempotent() of Notes.note would protect nothing');
    expect(message).toContain(why);
    expect(message).toContain('Put @Idempotent() on an HTTP route, a message handler');
  });
});
