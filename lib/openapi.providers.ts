import type { Provider, Type } from '@nestjs/common';
import { ApplicationConfig, MetadataScanner, ModulesContainer } from '@nestjs/core';
import { StatusLocation } from './background/status-location.js';
import { IdempotencyInterceptor } from './idempotency.interceptor.js';
import { IdempotentRoutes } from './idempotency.routes.js';
import { IdempotencySettings } from './idempotency.settings.js';
import { Discovery } from './openapi/discovery.js';
import { shortestKey } from './request/key-hygiene.js';
import { OpenApi, type RouteOf } from './openapi/open-api.js';

/** The description of idempotent routes in OpenAPI documents. */
export const openApiProviders: Provider[] = [
  {
    provide: OpenApi,
    useFactory: (
      settings: IdempotencySettings,
      config: ApplicationConfig,
      modules: ModulesContainer,
      scanner: MetadataScanner,
      routes: IdempotentRoutes,
      status: StatusLocation,
    ) => {
      const { header, openapi } = settings;
      const limited = settings.limits !== undefined;
      const documented = openapi
        ? { header, voice: settings, locationOf: (id: string) => status.of(id), limited }
        : undefined;
      return new OpenApi(config, modules, scanner, documented, routesOf(settings, routes));
    },
    inject: [
      IdempotencySettings,
      ApplicationConfig,
      ModulesContainer,
      MetadataScanner,
      IdempotentRoutes,
      StatusLocation,
    ],
  },
];

/** An application may have several IdempotencyModules: a route is served by the one of its interceptor. */
function routesOf(settings: IdempotencySettings, routes: IdempotentRoutes): RouteOf {
  return (module, { controller, method }) => {
    const interceptor = module.injectables.get(IdempotencyInterceptor)?.instance as
      IdempotencyInterceptor | undefined;
    if (interceptor?.routes !== routes) return undefined;
    const { policy, demandsKey } = routes.of(controller as Type, method);
    return { policy, demandsKey, scoped: (policy.scope ?? settings.scope) !== 'global' };
  };
}

/** @param isServed whether there is a route for it */
export function discoveryProvider(isServed: boolean): Provider {
  return {
    provide: Discovery,
    useFactory: (
      config: ApplicationConfig,
      settings: IdempotencySettings,
      routes: IdempotentRoutes,
      status: StatusLocation,
    ) =>
      new Discovery(config, isServed, {
        header: settings.header,
        voice: settings,
        shortestKey: () => Math.max(1, ...routes.all.map(({ policy }) => shortestKey(policy))),
        shortestRetention: () => routes.shortestRetention,
        locationOf: (id) => status.of(id),
      }),
    inject: [ApplicationConfig, IdempotencySettings, IdempotentRoutes, StatusLocation],
  };
}
