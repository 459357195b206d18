import { METHOD_METADATA } from '@nestjs/common/constants.js';
import type { ApplicationConfig, MetadataScanner, ModulesContainer } from '@nestjs/core';
import { methodName } from '../policy/http-methods.js';
import { isCovered } from '../policy/idempotent-metadata.js';
import { claim, watchApplication } from './claims.js';
import type { Handler } from './documented-handler.js';
import {
  modelsOf,
  operationOf,
  type DocumentedModule,
  type DocumentedRoute,
} from './idempotent-operation.js';

type Module = ModulesContainer extends Map<string, infer Value> ? Value : never;

/** Finds the route of a handler, if this IdempotencyModule serves it. */
export type RouteOf = (
  module: Module,
  handler: Handler,
) => Pick<DocumentedRoute, 'policy' | 'demandsKey' | 'scoped'> | undefined;

/**
 * Describes the idempotent routes of an application to @nestjs/swagger. Made with
 * the application, because a document is often created before it is initialised.
 */
export class OpenApi {
  constructor(
    config: ApplicationConfig,
    modules: ModulesContainer,
    scanner: MetadataScanner,
    /** Undefined: nothing is to be said, not even what was said for another application. */
    documented: DocumentedModule | undefined,
    routeOf: RouteOf,
  ) {
    watchApplication(config);
    if (!documented) return;
    const models = modelsOf(documented.voice);
    for (const module of modules.values()) {
      for (const { metatype } of module.controllers.values()) {
        if (typeof metatype !== 'function') continue;
        for (const handler of coveredHandlers(metatype, scanner)) {
          claim(config, handler, models, () => {
            const route = routeOf(module, handler);
            const method = methodName(Reflect.getMetadata(METHOD_METADATA, handler.method));
            return route && method !== undefined
              ? operationOf({ ...route, method }, documented)
              : undefined;
          });
        }
      }
    }
  }
}

function coveredHandlers(controller: Function, scanner: MetadataScanner): Handler[] {
  const prototype = controller.prototype as Record<string, unknown>;
  return scanner.getAllMethodNames(prototype).flatMap((property) => {
    const method = prototype[property];
    return typeof method === 'function' && isCovered(method)
      ? [{ method, controller, property }]
      : [];
  });
}
