// What packages remember per process of the classes that test files decorate: a test file
// must not meet those of the files before it.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(import.meta.url);

export async function forgetDecoratedClasses() {
  await forgetEntities();
  forgetGraphqlTypes();
}

/** All that `TypeOrmModule.forFeature()` was given is given to every data source with `autoLoadEntities`. */
async function forgetEntities() {
  const index = require.resolve('@nestjs/typeorm');
  // In version 11 the entry is beside `dist`.
  const file = index.replace(/(dist[/\\])?index\.js$/, 'dist/entities-metadata.storage.js');
  const { EntitiesMetadataStorage } = await import(pathToFileURL(file).href);
  EntitiesMetadataStorage.storage.clear();
}

/** All of them are part of every schema. They are there if a test file has loaded @nestjs/graphql. */
function forgetGraphqlTypes() {
  const { GqlTypeMetadataStorage: types, GqlLazyMetadataStorageHost: lazy } = /** @type {any} */ (
    globalThis
  );
  types?.clear();
  lazy?.lazyMetadataByTarget.clear();
}
