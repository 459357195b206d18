import {
  All,
  Controller,
  Get,
  Head,
  Injectable,
  Options,
  Patch,
  Post,
  Put,
  Scope,
  Search,
  SetMetadata,
  type Type,
} from '@nestjs/common';
import { EventPattern, GrpcStreamMethod, MessagePattern } from '@nestjs/microservices';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  IdempotencyConfigurationError,
  Idempotent,
  NotIdempotent,
} from 'nestjs-atomic-idempotency';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { send } from '../support/http.js';
import { startIdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { bootFailure, type Boot } from './boot-failure.js';

/** What @nestjs/graphql and @nestjs/websockets leave on classes and methods. */
const Mutation = () => SetMetadata('graphql:resolver_type', 'Mutation');
const Query = () => SetMetadata('graphql:resolver_type', 'Query');
const Resolver = () => SetMetadata('graphql:resolver_type', undefined);
const SubscribeMessage = () => SetMetadata('websockets:message_mapping', true);
const WebSocketGateway = () => SetMetadata('websockets:is_gateway', true);

function controllerWith(...decorators: MethodDecorator[]): Type {
  @Controller()
  class Orders {
    create(): object {
      return {};
    }
  }
  const descriptor = Object.getOwnPropertyDescriptor(Orders.prototype, 'create')!;
  for (const decorate of decorators) decorate(Orders.prototype, 'create', descriptor);
  Object.defineProperty(Orders.prototype, 'create', descriptor);
  return Orders;
}

function providerWith(decorators: MethodDecorator[], ofClass: ClassDecorator[] = []): Type {
  class Orders {
    create(): object {
      return {};
    }
  }
  const descriptor = Object.getOwnPropertyDescriptor(Orders.prototype, 'create')!;
  for (const decorate of decorators) decorate(Orders.prototype, 'create', descriptor);
  Object.defineProperty(Orders.prototype, 'create', descriptor);
  for (const decorate of [...ofClass, Injectable()]) decorate(Orders);
  return Orders;
}

@Injectable({ scope: Scope.REQUEST })
class PerRequest {
  @Idempotent()
  create(): object {
    return {};
  }
}

@Idempotent()
@Controller()
class WithoutRoutesToCover {
  @Get()
  read(): object {
    return {};
  }

  @Put()
  replace(): object {
    return {};
  }
}

@Idempotent({ scope: (request: { tenant: string }) => request.tenant })
@Controller()
class BothKinds {
  @Post()
  create(): object {
    return {};
  }

  @MessagePattern('orders')
  told(): object {
    return {};
  }
}

const METHOD = '@Idempotent() of Orders.create would protect nothing';
const CLASS = '@Idempotent() of Orders would protect nothing';

const mistakes: [string, Omit<Boot, 'database'>, string[]][] = [
  [
    'a message handler of a provider',
    { providers: [providerWith([MessagePattern('orders'), Idempotent()])] },
    [METHOD, 'a method of a provider', 'a message handler (@MessagePattern()'],
  ],
  [
    'a message handler, with what only routes have',
    { controllers: [controllerWith(MessagePattern('orders'), Idempotent({ keyspace: 'scope' }))] },
    ['Orders.create: there is no option keyspace here', 'It belongs to HTTP routes'],
  ],
  [
    'a message handler, with what only the module has',
    {
      controllers: [
        controllerWith(MessagePattern('orders'), Idempotent({ header: 'X' } as object)),
      ],
    },
    ['there is no option header here', 'IdempotencyModule.forRoot()'],
  ],
  [
    'a message handler, with an answer of HTTP',
    {
      controllers: [
        controllerWith(
          EventPattern('ordered') as MethodDecorator,
          Idempotent({ onInProgress: 'accept' }),
        ),
      ],
    },
    ["onInProgress: 'accept' answers HTTP requests with 202", "Use 'reject' or 'wait'"],
  ],
  [
    'a message handler with @NotIdempotent()',
    {
      controllers: [controllerWith(MessagePattern('orders'), NotIdempotent('reads'), Idempotent())],
    },
    ['contradict each other'],
  ],
  [
    'a message handler that is a route too, with a function for both',
    {
      controllers: [
        controllerWith(
          Post(),
          MessagePattern('orders'),
          Idempotent({ key: ({ id }) => id as string }),
        ),
      ],
    },
    ['Orders.create: key is a function', 'HTTP route as well', 'a method and a key of its own'],
  ],
  [
    'a class with routes and message handlers, with a function for both',
    { controllers: [BothKinds] },
    ['BothKinds.told: scope is a function', 'BothKinds has HTTP routes as well'],
  ],
  [
    'two message handlers of one name',
    {
      controllers: [
        controllerWith(MessagePattern('orders'), Idempotent()),
        controllerWith(MessagePattern('others'), Idempotent()),
      ],
    },
    ['two classes of that name', 'Rename one'],
  ],
  [
    'a handler of a stream of gRPC',
    { controllers: [controllerWith(GrpcStreamMethod('Orders') as MethodDecorator, Idempotent())] },
    ['a stream of gRPC', 'Idempotency.run()'],
  ],
  [
    'a route, with settle',
    { controllers: [controllerWith(Post(), Idempotent({ settle: true }))] },
    ['settle acknowledges messages of RabbitMQ'],
  ],
  [
    'a plain method of a controller',
    { controllers: [controllerWith(Idempotent())] },
    [METHOD, 'a plain method without @Post()'],
  ],
  [
    'a method of a provider',
    { providers: [providerWith([Idempotent()])] },
    [METHOD, 'a method of a provider', 'remove the decorator'],
  ],
  [
    'a method of a provider that a factory makes',
    {
      providers: [
        { provide: 'orders', useFactory: () => new (providerWith([Idempotent()]))() as object },
      ],
    },
    [METHOD, 'a method of a provider'],
  ],
  [
    'a method of a provider that is made for each request',
    { providers: [PerRequest] },
    ['@Idempotent() of PerRequest.create would protect nothing', 'a method of a provider'],
  ],
  [
    'a route of a class that is not a controller',
    { providers: [providerWith([Post(), Idempotent()])] },
    [METHOD, 'a method of a provider'],
  ],
  [
    'a class that is not a controller',
    { providers: [providerWith([], [Idempotent()])] },
    [CLASS, 'a provider'],
  ],
  [
    'a GraphQL query',
    { providers: [providerWith([Query(), Idempotent()], [Resolver()])] },
    [METHOD, 'a GraphQL query, subscription or field'],
  ],
  [
    'a mutation, with what only messages have',
    { providers: [providerWith([Mutation(), Idempotent({ settle: true })], [Resolver()])] },
    ['there is no option settle here', 'message handlers'],
  ],
  [
    'a GraphQL resolver without mutations',
    { providers: [providerWith([Query()], [Resolver(), Idempotent()])] },
    [CLASS, 'a GraphQL resolver without a mutation'],
  ],
  [
    'a handler of a gateway',
    { providers: [providerWith([SubscribeMessage(), Idempotent()], [WebSocketGateway()])] },
    [METHOD, 'a handler of a WebSocket gateway'],
  ],
  [
    'a gateway',
    { providers: [providerWith([SubscribeMessage()], [WebSocketGateway(), Idempotent()])] },
    [CLASS, 'a WebSocket gateway'],
  ],
  [
    'a controller without a route that it covers',
    { controllers: [WithoutRoutesToCover] },
    ['WithoutRoutesToCover would protect nothing', 'POST, PATCH and @All()'],
  ],
  ...[Get, Head, Options, Search].map((method): (typeof mistakes)[number] => [
    `a route for ${method.name}`,
    { controllers: [controllerWith(method(), Idempotent({ required: true }))] },
    [METHOD, `the route is for ${method.name.toUpperCase()}`, 'make it a POST'],
  ]),
];

describe('A misplaced @Idempotent()', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());

  it.each(mistakes)('stops the boot: on %s', async (_, boot, words) => {
    const error = await bootFailure({ database, ...boot });
    expect(error).toBeInstanceOf(IdempotencyConfigurationError);
    for (const word of words) expect(error.message).toContain(word);
  });
});

forEachPlatform('A controller with @Idempotent()', (platform) => {
  it('may be injected elsewhere, and may have handlers of other kinds', async () => {
    @Idempotent()
    @Controller('orders')
    class Orders {
      @Patch()
      change(): object {
        return {};
      }

      @All('any')
      any(): object {
        return {};
      }

      @MessagePattern('orders')
      told(): object {
        return {};
      }
    }
    const app = await startIdempotentApp(platform, { controllers: [Orders], providers: [Orders] });
    const refused = await send(`${app.url}/orders/any`);
    expect(refused.json()).toMatchObject({ code: 'key_missing' });
    await app.close();
  });
});
