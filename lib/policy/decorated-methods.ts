import type { Type } from '@nestjs/common';
import type { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { IdempotencyConfigurationError } from './configuration-error.js';

/** A method of a provider or controller that has one of the library's decorators. */
export interface DecoratedMethod {
  /** The argument of the decorator. */
  mark: string;
  call: (argument: unknown) => unknown;
  /** Class and method, for error messages. */
  where: string;
}

/** Finds the decorated methods in all providers and controllers of the application. */
export function* decoratedMethods(
  discovery: DiscoveryService,
  scanner: MetadataScanner,
  metadata: symbol,
): Generator<DecoratedMethod> {
  // A provider with an alias (useExisting) is one object under two tokens.
  const seen = new Set<unknown>();
  for (const provider of [...discovery.getProviders(), ...discovery.getControllers()]) {
    const { instance, metatype } = provider as { instance: unknown; metatype: Type | null };
    if (!instance || typeof instance !== 'object' || seen.has(instance)) continue;
    seen.add(instance);
    const methods = instance as Record<string, unknown>;
    for (const name of scanner.getAllMethodNames(Object.getPrototypeOf(instance) as object)) {
      const method = methods[name];
      if (typeof method !== 'function') continue;
      const mark = Reflect.getMetadata(metadata, method) as string | undefined;
      if (mark === undefined) continue;
      const where = `${metatype?.name ?? 'a provider'}.${name}`;
      if (!provider.isDependencyTreeStatic()) {
        throw new IdempotencyConfigurationError(
          `${where} is called when there is no request, but its provider (or one that it depends on) is made anew for each request. Give it the default scope.`,
        );
      }
      yield {
        mark,
        call: (argument) => (method as (argument: unknown) => unknown).call(instance, argument),
        where,
      };
    }
  }
}
