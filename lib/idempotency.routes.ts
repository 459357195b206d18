import {
  Injectable,
  Logger,
  RequestMethod,
  type ExecutionContext,
  type Type,
} from '@nestjs/common';
import { METHOD_METADATA, SSE_METADATA } from '@nestjs/common/constants.js';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { IdempotencyConfigurationError } from './idempotency.errors.js';
import { resolvePolicy, type ResolvedPolicy } from './idempotency.policy.js';
import { IdempotencySettings } from './idempotency.settings.js';
import { isCovered, isForClass, policyOf } from './idempotent.metadata.js';

/** An idempotent route, with all that can be known before the first request. */
export interface IdempotentRoute {
  policy: ResolvedPolicy;
  /** The handler's own decorator demands a key, whatever the method. */
  demandsKey: boolean;
}

/** Finds every idempotent route at boot, so that mistakes show then and requests find their policy ready. */
@Injectable()
export class IdempotentRoutes {
  private readonly logger = new Logger('IdempotencyModule');
  private readonly routes = new WeakMap<object, WeakMap<object, IdempotentRoute>>();

  constructor(
    private readonly settings: IdempotencySettings,
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
  ) {}

  explore(): void {
    for (const { metatype } of this.discovery.getControllers()) {
      if (typeof metatype !== 'function') continue;
      const prototype = metatype.prototype as Record<string, unknown>;
      for (const name of this.scanner.getAllMethodNames(prototype)) {
        const handler = prototype[name];
        if (typeof handler !== 'function') continue;
        if (isCovered(handler)) this.add(metatype as Type, handler);
        else if (policyOf(metatype) && isForClass(handler)) throw uncovered(metatype, handler);
      }
    }
  }

  /** The route of a request, or undefined where it is not idempotent. */
  find(context: ExecutionContext): IdempotentRoute | undefined {
    const handler = context.getHandler();
    const controller = context.getClass();
    const known = this.routes.get(controller)?.get(handler);
    if (known) return known;
    // A controller that came after boot (a lazy module, a test's override).
    return isCovered(handler) ? this.add(controller, handler) : undefined;
  }

  private add(controller: Type, handler: object): IdempotentRoute {
    const where = `@Idempotent() of ${controller.name}.${(handler as { name: string }).name}`;
    if (Reflect.hasMetadata(SSE_METADATA, handler)) {
      throw new IdempotencyConfigurationError(
        `${where}: the route is @Sse(), whose answer never ends and so can be neither recorded nor replayed. ` +
          'Remove one of the two; start the work with an idempotent POST and stream its progress from another route.',
      );
    }
    const method: unknown = Reflect.getMetadata(METHOD_METADATA, handler);
    if (method === RequestMethod.GET || method === RequestMethod.HEAD) {
      this.logger.warn(`${where} has no effect: GET and HEAD change nothing, so they need no key.`);
    }
    const own = policyOf(handler);
    const route: IdempotentRoute = {
      policy: resolvePolicy(
        this.settings.dialect,
        [this.settings.policy, policyOf(controller), own],
        where,
      ),
      demandsKey: own?.required === true,
    };
    const ofController = this.routes.get(controller) ?? new WeakMap<object, IdempotentRoute>();
    this.routes.set(controller, ofController.set(handler, route));
    return route;
  }
}

/** The decorator ran when the parent class was made; it could not see the routes of a child. */
function uncovered(controller: { name: string }, handler: { name: string }): Error {
  const route = `${controller.name}.${handler.name}`;
  return new IdempotencyConfigurationError(
    `@Idempotent(): a parent class of ${controller.name} has it, but ${route} is declared below that class and would not be covered. ` +
      `Put @Idempotent() on ${controller.name} as well, or on ${route}.`,
  );
}
