import {
  Controller,
  Injectable,
  Module,
  Post,
  RequestMethod,
  Scope,
  UseGuards,
  VersioningType,
  type CanActivate,
  type ExecutionContext,
  type INestApplication,
} from '@nestjs/common';
import { RouterModule } from '@nestjs/core';
import { describe, expect, it } from '@jest/globals';
import {
  IdempotencyModule,
  Idempotent,
  Resumable,
  type IdempotencyModuleExtras,
  type IdempotencyModuleOptions,
} from 'nestjs-atomic-idempotency';
import { send, type Received } from '../support/http.js';
import {
  keyRow,
  startIdempotentApp,
  type IdempotentApp,
  type IdempotentAppOptions,
} from '../support/idempotent-app.js';
import { forEachPlatform, type Platform } from '../support/platforms.js';
import { recordingLogger } from '../support/recording-logger.js';

interface AuthenticatedRequest {
  headers: Record<string, string | undefined>;
  user?: { id: unknown };
}

@Injectable()
class Tokens {
  userOf(authorization = ''): string | undefined {
    return /^Bearer (\w+)$/.exec(authorization)?.[1];
  }
}

/** Needs a service that only the orders' module knows. */
@Injectable()
class AuthGuard implements CanActivate {
  constructor(private readonly tokens: Tokens) {}

  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<AuthenticatedRequest>();
    const id = this.tokens.userOf(request.headers['authorization']);
    if (id === undefined) return false;
    request.user = { id };
    return true;
  }
}

@Injectable({ scope: Scope.REQUEST })
class AuthGuardPerRequest extends AuthGuard {
  constructor(tokens: Tokens) {
    super(tokens);
  }
}

/** Used on no controller and provided nowhere. */
@Injectable()
class LonelyGuard extends AuthGuard {
  constructor() {
    super(new Tokens());
  }
}

@Injectable()
class Orders {
  @Resumable('orders.create')
  async create(): Promise<object> {
    return { ordered: true };
  }
}

@Controller('orders')
@UseGuards(AuthGuard)
class OrdersController {
  constructor(private readonly orders: Orders) {}

  @Post()
  @Idempotent({ run: 'background' })
  create(): Promise<object> {
    return this.orders.create();
  }
}

@Module({
  controllers: [OrdersController],
  providers: [Orders, Tokens, AuthGuardPerRequest],
})
class OrdersModule {}

type Options = Partial<IdempotencyModuleOptions> & IdempotencyModuleExtras;

function start(
  platform: Platform,
  idempotency: Options,
  options: IdempotentAppOptions = {},
): Promise<IdempotentApp> {
  return startIdempotentApp(platform, {
    imports: [OrdersModule],
    idempotency: {
      scope: (request: AuthenticatedRequest) => request.user?.id as string,
      statusPath: 'operations',
      ...idempotency,
    } as Options,
    logger: false,
    ...options,
  });
}

const as = (user: string) => ({ authorization: `Bearer ${user}` });

function get(app: IdempotentApp, location: string | null, user?: string): Promise<Received> {
  return send(`${app.url}${location}`, { method: 'GET', headers: user ? as(user) : {} });
}

forEachPlatform('Background work', (platform) => {
  describe('The status route', () => {
    it.each([
      ['a class that guards a controller elsewhere', AuthGuard],
      ['a class with the scope of a request', AuthGuardPerRequest],
      ['a class that is used nowhere else', LonelyGuard],
      ['an instance', new AuthGuard(new Tokens())],
    ])('asks the guards of statusGuards: %s', async (_, guard) => {
      const app = await start(platform, { statusGuards: [guard] });
      const accepted = await send(`${app.url}/orders`, { key: 'a', headers: as('ada') });
      expect(accepted.status).toBe(202);
      const location = accepted.headers.get('location');

      const owner = await get(app, location, 'ada');
      expect(owner.status).toBe(200);
      expect(owner.json()).toMatchObject({ status: 'pending' });
      expect((await get(app, location, 'bob')).status).toBe(404);
      expect((await get(app, location)).status).toBe(403);
      await app.close();
    });

    it('refuses a caller whom no guard has identified, and logs what to do', async () => {
      const logger = recordingLogger();
      const app = await start(platform, {}, { logger });
      const accepted = await send(`${app.url}/orders`, { key: 'a', headers: as('ada') });

      expect((await get(app, accepted.headers.get('location'), 'ada')).status).toBe(403);
      expect(logger.errors.join()).toContain('scope option returned undefined');
      expect(logger.errors.join()).toContain('statusGuards: [AuthGuard]');
      await app.close();
    });

    it.each([true, '', 'ada\0', 4.2, null, { id: 7 }])(
      'refuses the scope %p, as requests do',
      async (scope) => {
        const app = await start(platform, { scope: () => scope as string });
        expect((await get(app, '/operations/1')).status).toBe(403);
        await app.close();
      },
    );

    it('accepts a number as the caller', async () => {
      const app = await start(platform, { scope: () => 7 });
      await send(`${app.url}/orders`, { key: 'a', headers: as('ada') });
      const { id } = await keyRow(app.database, 'a');
      expect((await get(app, `/operations/${id}`)).status).toBe(200);
      await app.close();
    });

    const settings: [string, string, string, (app: INestApplication) => unknown, Options?][] = [
      ['nothing special', '', '/operations', () => undefined],
      ['slashes', '', '/my/operations', () => undefined, { statusPath: '/my/operations/' }],
      ['a global prefix', '/api', '/api/operations', (app) => app.setGlobalPrefix('api')],
      [
        'a global prefix that excludes the route',
        '/api',
        '/operations',
        (app) => app.setGlobalPrefix('/api/', { exclude: ['operations/:id'] }),
      ],
      [
        'a global prefix that excludes other methods of the route',
        '/api',
        '/api/operations',
        (app) =>
          app.setGlobalPrefix('api', {
            exclude: [{ path: 'operations/:id', method: RequestMethod.POST }],
          }),
      ],
      [
        'versions in the path',
        '',
        '/operations',
        (app) => app.enableVersioning({ type: VersioningType.URI }),
      ],
      [
        'a default version in the path, and a prefix',
        '/api/v1',
        '/api/operations',
        (app) =>
          app
            .setGlobalPrefix('api')
            .enableVersioning({ type: VersioningType.URI, defaultVersion: '1' }),
      ],
      [
        'versions in a header, with a default',
        '',
        '/operations',
        (app) =>
          app.enableVersioning({
            type: VersioningType.HEADER,
            header: 'x-version',
            defaultVersion: '1',
          }),
      ],
    ];

    it.each(settings)(
      'has the address that Location gives, with %s',
      async (_, prefix, path, configure, extras = {}) => {
        const app = await start(
          platform,
          { statusGuards: [AuthGuard], ...extras },
          { configure: (nest) => void configure(nest) },
        );
        const accepted = await send(`${app.url}${prefix}/orders`, {
          key: 'a',
          headers: { ...as('ada'), 'x-version': '1' },
        });
        const { id } = await keyRow(app.database, 'a');
        expect(accepted.headers.get('location')).toBe(`${path}/${id}`);
        expect((await get(app, accepted.headers.get('location'), 'ada')).status).toBe(200);
        await app.close();
      },
    );

    it('has the address that Location gives, with a path that RouterModule gives to the module', async () => {
      const app = await start(
        platform,
        { statusGuards: [AuthGuard] },
        {
          imports: [
            OrdersModule,
            RouterModule.register([{ path: 'internal', module: IdempotencyModule }]),
          ],
          configure: (nest) => void nest.setGlobalPrefix('api'),
        },
      );
      const accepted = await send(`${app.url}/api/orders`, { key: 'a', headers: as('ada') });
      const { id } = await keyRow(app.database, 'a');
      expect(accepted.headers.get('location')).toBe(`/api/internal/operations/${id}`);
      expect((await get(app, accepted.headers.get('location'), 'ada')).status).toBe(200);
      await app.close();
    });
  });
});
