import type { Type } from '@nestjs/common';
import type { DiscoveryService, MetadataScanner } from '@nestjs/core';

/** A provider's method that one of our decorators has marked. */
export interface MarkedMethod {
  /** What the decorator was given. */
  mark: string;
  call: (argument: unknown) => unknown;
  /** Class and method, for messages. */
  where: string;
}

/** Finds the methods with a mark in all providers of the application. */
export function* markedMethods(
  discovery: DiscoveryService,
  scanner: MetadataScanner,
  metadata: symbol,
): Generator<MarkedMethod> {
  for (const { instance, metatype } of discovery.getProviders()) {
    if (!instance || typeof instance !== 'object') continue;
    const methods = instance as Record<string, unknown>;
    for (const name of scanner.getAllMethodNames(Object.getPrototypeOf(instance) as object)) {
      const method = methods[name];
      if (typeof method !== 'function') continue;
      const mark = Reflect.getMetadata(metadata, method) as string | undefined;
      if (mark === undefined) continue;
      yield {
        mark,
        call: (argument) => (method as (argument: unknown) => unknown).call(instance, argument),
        where: `${(metatype as Type | null)?.name ?? 'a provider'}.${name}`,
      };
    }
  }
}
