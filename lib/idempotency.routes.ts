import { Injectable, type ExecutionContext, type Type } from '@nestjs/common';
import {
  CONTROLLER_WATERMARK,
  HOST_METADATA,
  METHOD_METADATA,
  SSE_METADATA,
} from '@nestjs/common/constants.js';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { isSafe, methodName } from './policy/http-methods.js';
import { IdempotencyConfigurationError } from './policy/configuration-error.js';
import { checkLease, resolvePolicy, type ResolvedPolicy } from './policy/resolve-policy.js';
import { IdempotencySettings } from './idempotency.settings.js';
import { IdempotentEntries } from './idempotency.entries.js';
import { isForClass, isRoute } from './policy/handler-kinds.js';
import { hasOwnPolicy, isCovered, policyOf } from './policy/idempotent-metadata.js';
import { OPTION_NAMES } from './option-names.js';
import { POLICY_NAMES, type IdempotencyPolicy } from './policy/policy.js';
import { refuseUnknownNames } from './policy/unknown-names.js';
import { misplacedOn, misplacedOnClass, refuseContradiction } from './misplaced-decorators.js';

/** An idempotent route, with everything that is known before the first request. */
export interface IdempotentRoute {
  /** Controller and method, for error messages. */
  name: string;
  policy: ResolvedPolicy;
  /** The handler's own decorator requires a key, whatever the method. */
  demandsKey: boolean;
  /** Its controller is for certain hosts, so the host is part of the route. */
  ofHost: boolean;
}

/**
 * Finds every idempotent route at boot, so that mistakes show up then and
 * policies are resolved before the first request.
 */
@Injectable()
export class IdempotentRoutes {
  private readonly routes = new WeakMap<object, WeakMap<object, IdempotentRoute>>();

  /** Every route that is known by now. */
  readonly all: IdempotentRoute[] = [];

  constructor(
    private readonly settings: IdempotencySettings,
    private readonly entries: IdempotentEntries,
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
  ) {}

  explore(): void {
    for (const { metatype } of this.discovery.getControllers()) {
      if (typeof metatype === 'function') this.exploreClass(metatype, true);
    }
    for (const provider of this.discovery.getProviders()) {
      const instance: unknown = provider.instance;
      if (!instance || typeof instance !== 'object') continue;
      const { constructor: owner } = instance;
      // A controller that is injected somewhere is listed here again.
      if (typeof owner !== 'function' || Reflect.hasMetadata(CONTROLLER_WATERMARK, owner)) continue;
      this.exploreClass(owner, false);
    }
    this.entries.check();
  }

  /** A decorator where nothing calls would protect nothing. */
  private exploreClass(owner: Function, isController: boolean): void {
    let covered = false;
    for (const handler of this.methodsOf(owner.prototype as object)) {
      if (isController) this.entries.meet(owner, handler);
      if (isCovered(handler)) {
        const misplaced = misplacedOn(owner, handler, isController);
        if (misplaced) throw misplaced;
        if (isController && isRoute(handler)) this.of(owner as Type, handler);
        this.entries.add(owner, handler);
        covered = true;
      } else if (policyOf(owner) && isForClass(handler)) throw uncovered(owner, handler);
    }
    if (!covered && hasOwnPolicy(owner)) throw misplacedOnClass(owner, isController);
  }

  private *methodsOf(prototype: object): Generator<(...args: unknown[]) => unknown> {
    for (const name of this.scanner.getAllMethodNames(prototype)) {
      const method = (prototype as Record<string, unknown>)[name];
      if (typeof method === 'function') yield method as (...args: unknown[]) => unknown;
    }
  }

  /** The route of an HTTP request, or undefined if it is not idempotent. */
  find(context: ExecutionContext): IdempotentRoute | undefined {
    const handler = context.getHandler();
    const controller = context.getClass();
    const known = this.routes.get(controller)?.get(handler);
    if (known) return known;
    // A controller that came after boot (a lazy module, a test's override).
    return isCovered(handler) ? this.add(controller, handler) : undefined;
  }

  /** The name of a route, a message handler or a mutation that is idempotent, if there is one. */
  get anyEntry(): string | undefined {
    return this.all[0]?.name ?? this.entries.anyName;
  }

  /** The shortest retention of all routes, or of the module if there are none; null is for ever. */
  get shortestRetention(): number | null {
    const { dialect, policy } = this.settings;
    const ofModule = resolvePolicy(dialect, [policy], 'forRoot options');
    const policies = this.all.length > 0 ? this.all.map((route) => route.policy) : [ofModule];
    const shortest = Math.min(...policies.map(({ retention }) => retention ?? Infinity));
    return shortest === Infinity ? null : shortest;
  }

  /** The route of a handler, also before the application is initialised. */
  of(controller: Type, handler: object): IdempotentRoute {
    return this.routes.get(controller)?.get(handler) ?? this.add(controller, handler);
  }

  private add(controller: Type, handler: object): IdempotentRoute {
    const name = `${controller.name}.${(handler as { name: string }).name}`;
    const where = `@Idempotent() of ${name}`;
    if (Reflect.hasMetadata(SSE_METADATA, handler)) {
      throw new IdempotencyConfigurationError(
        `${where}: the route is @Sse(), whose answer never ends and so can be neither recorded nor replayed. ` +
          'Remove one of the two; start the work with an idempotent POST and stream its progress from another route.',
      );
    }
    const method = methodName(Reflect.getMetadata(METHOD_METADATA, handler));
    if (method !== undefined && isSafe(method)) {
      throw new IdempotencyConfigurationError(
        `${where} would protect nothing: the route is for ${method}, and by HTTP's rules such a request changes nothing, so its key is never read. ` +
          'Remove the decorator; if the route does change something, make it a POST.',
      );
    }
    refuseContradiction(name, handler);
    const own = policyOf(handler);
    for (const policy of [policyOf(controller), own]) {
      refuseSettle(where, policy);
      refuseUnknownNames(where, policy, POLICY_NAMES, '', {
        names: OPTION_NAMES,
        place: 'to the module: give it to IdempotencyModule.forRoot()',
      });
    }
    const route: IdempotentRoute = {
      name,
      policy: resolvePolicy(
        this.settings.dialect,
        [this.settings.policy, policyOf(controller), own],
        where,
      ),
      demandsKey: own?.required === true,
      ofHost: Boolean(Reflect.getMetadata(HOST_METADATA, controller)),
    };
    checkLease(where, 'lease', route.policy.lease, this.settings.storeTimeout);
    this.all.push(route);
    const ofController = this.routes.get(controller) ?? new WeakMap<object, IdempotentRoute>();
    this.routes.set(controller, ofController.set(handler, route));
    return route;
  }
}

/** A route has no message that could be acknowledged. */
function refuseSettle(where: string, policy: IdempotencyPolicy | undefined): void {
  if (policy?.settle === undefined) return;
  throw new IdempotencyConfigurationError(
    `${where}: settle acknowledges messages of RabbitMQ, and this is an HTTP route. Put it on the message handlers that are meant.`,
  );
}

/**
 * The decorator ran when the parent class was defined; it could not see the
 * routes of a subclass.
 */
function uncovered(controller: { name: string }, handler: { name: string }): Error {
  const route = `${controller.name}.${handler.name}`;
  return new IdempotencyConfigurationError(
    `@Idempotent(): a parent class of ${controller.name} has it, but ${route} is declared below that class and would not be covered. ` +
      `Put @Idempotent() on ${controller.name} as well, or on ${route}.`,
  );
}
