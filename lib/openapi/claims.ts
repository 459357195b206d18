import type { ApplicationConfig } from '@nestjs/core';
import { documented, type Handler } from './documented-handler.js';
import type { IdempotentOperation } from './idempotent-operation.js';
import {
  readMetadata,
  SWAGGER,
  writeMetadata,
  type OwnMetadata,
  type Part,
} from './swagger-metadata.js';

/**
 * Metadata belongs to a class, and a class may be in several applications with
 * different options. So what the library adds is made when swagger asks for it,
 * for the application that swagger is looking at; and nothing is made where there
 * is no swagger.
 */
interface Claim {
  handler: Handler;
  /** Undefined: another module of the same application serves it. */
  describe: () => IdempotentOperation | undefined;
}

/** By method, then by the application. */
const claims = new WeakMap<object, WeakMap<object, Claim[]>>();

const ownMetadata = new WeakMap<object, OwnMetadata>();

/** The application that swagger is looking at: it does so in one turn, without a pause. */
let scanned: ApplicationConfig | undefined;

const watched = new WeakSet<object>();

/** Swagger asks for it before it reads what is said of a route, and it is the application's own. */
export function watchApplication(config: ApplicationConfig): void {
  if (watched.has(config)) return;
  watched.add(config);
  const getVersioning = config.getVersioning.bind(config);
  config.getVersioning = () => {
    if (!scanned) queueMicrotask(() => (scanned = undefined));
    scanned = config;
    return getVersioning();
  };
}

/** @param models the schemas that the description refers to */
export function claim(
  config: ApplicationConfig,
  handler: Handler,
  models: readonly unknown[],
  describe: Claim['describe'],
): void {
  const { method } = handler;
  if (!ownMetadata.has(method)) {
    ownMetadata.set(method, readMetadata(method));
    Reflect.defineMetadata(SWAGGER.extensions, readByScan(method), method);
  }
  const ofMethod = claims.get(method) ?? new WeakMap<object, Claim[]>();
  claims.set(method, ofMethod);
  ofMethod.set(config, [...(ofMethod.get(config) ?? []), { handler, describe }]);
  const known = (Reflect.getMetadata(SWAGGER.extraModels, method) ?? []) as unknown[];
  Reflect.defineMetadata(SWAGGER.extraModels, [...new Set([...known, ...models])], method);
}

/**
 * The extensions of an operation. Of all that is said of it, swagger reads them
 * first, by listing their names; that is when everything else is written.
 */
function readByScan(method: object): Part {
  return new Proxy<Part>(
    {},
    {
      ownKeys(extensions) {
        for (const name of Object.keys(extensions)) delete extensions[name];
        Object.assign(extensions, write(method));
        return Reflect.ownKeys(extensions);
      },
    },
  );
}

/** @returns the extensions */
function write(method: object): Part {
  const own = ownMetadata.get(method)!;
  for (const { handler, describe } of claimsOf(method)) {
    const added = describe();
    if (!added) continue;
    writeMetadata(method, documented(handler, own, added));
    return { ...added.extensions, ...own.extensions };
  }
  writeMetadata(method, own);
  return own.extensions ?? {};
}

function claimsOf(method: object): Claim[] {
  return (scanned && claims.get(method)?.get(scanned)) ?? [];
}
