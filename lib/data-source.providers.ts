import type { DynamicModule, FactoryProvider, Provider } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { getDataSourceToken, TypeOrmModule } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { IdempotencyConfigurationError } from './policy/configuration-error.js';
import { DATA_SOURCE } from './tokens.js';

/** The data source of this name, under a token of the library. */
export function dataSourceProvider(name: string | undefined): Provider {
  return {
    provide: DATA_SOURCE,
    ...onDataSource(name, (dataSource) => dataSource),
  };
}

/**
 * The entities with their repositories, as `forFeature()` makes them, but with an
 * error that names the cure.
 */
export function entityModule(
  entities: (new () => object)[],
  name: string | undefined,
): DynamicModule {
  const module = TypeOrmModule.forFeature(entities, name);
  const providers = (module.providers ?? []).map((provider) => {
    const { useFactory } = provider as FactoryProvider;
    return { ...(provider as FactoryProvider), ...onDataSource(name, useFactory) };
  });
  return { ...module, providers, exports: providers };
}

function onDataSource(name: string | undefined, make: (dataSource: DataSource) => unknown) {
  return {
    useFactory: async (modules: ModulesContainer, dataSource?: DataSource) =>
      make(dataSource ?? (await withoutDataSource(modules, name))),
    inject: [ModulesContainer, { token: getDataSourceToken(name) as string, optional: true }],
  };
}

/**
 * An optional dependency is also undefined if it exists and has failed, such as a
 * database that cannot be reached. Its own error ends the boot and says more, so
 * nothing is thrown here.
 */
function withoutDataSource(
  modules: ModulesContainer,
  name: string | undefined,
): Promise<DataSource> {
  const token = getDataSourceToken(name) as string;
  const exists = [...modules.values()].some(
    (module) => module.isGlobal && module.providers.has(token) && module.exports.has(token),
  );
  if (exists) return new Promise(() => undefined);
  const wanted = name === undefined ? 'no default data source' : `no data source '${name}'`;
  const others = namesIn(modules);
  throw new IdempotencyConfigurationError(
    `dataSource: there is ${wanted} to keep the keys in. ` +
      (others.length === 0
        ? 'Import TypeOrmModule.forRoot({ … }) into the root module.'
        : `There is ${others.map((other) => `'${other}'`).join(', ')}: choose it with IdempotencyModule.forRoot({ …, dataSource: '${others[0]}' }), or import the missing one with TypeOrmModule.forRoot({ … }).`),
  );
}

/** The data sources that TypeOrmModule has been given. */
function namesIn(modules: ModulesContainer): string[] {
  const names = new Set<string>();
  for (const { providers } of modules.values()) {
    for (const token of providers.keys()) {
      if (token === DataSource) names.add('default');
      const named = typeof token === 'string' && /^(.+)DataSource$/.exec(token);
      if (named) names.add(named[1]!);
    }
  }
  return [...names];
}
