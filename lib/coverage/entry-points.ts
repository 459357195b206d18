import {
  CONTROLLER_WATERMARK,
  METHOD_METADATA,
  PATH_METADATA,
  VERSION_METADATA,
} from '@nestjs/common/constants.js';
import { entryKindOf, entryNamesOf } from '../policy/handler-kinds.js';
import { isIdempotent, isSafe, methodName } from '../policy/http-methods.js';
import { exemptionOf, isCovered, policyOf } from '../policy/idempotent-metadata.js';
import type { Coverage, EntryPoint } from './entry-point.js';

/** What the walk needs of Nest's modules, whichever copy of Nest made them. */
export type ScannedModules = Iterable<{
  controllers: ReadonlyMap<unknown, { metatype: unknown }>;
  providers: ReadonlyMap<unknown, { metatype: unknown }>;
}>;

type Handler = ((...args: never[]) => unknown) & { name: string };
type Class = { name: string; prototype: object };

/** Every state-changing entry point of an application, from the metadata of its classes. */
export function entryPointsOf(modules: ScannedModules): EntryPoint[] {
  const classes = new Set<Class>();
  for (const { controllers, providers } of modules) {
    for (const { metatype } of [...controllers.values(), ...providers.values()]) {
      if (typeof metatype === 'function' && metatype.prototype) classes.add(metatype as Class);
    }
  }
  return [...classes].flatMap((owner) =>
    methodsOf(owner.prototype).flatMap((handler) => [
      ...routesOf(owner, handler),
      ...entriesOf(owner, handler),
    ]),
  );
}

function* routesOf(owner: Class, handler: Handler): Generator<EntryPoint> {
  const method = methodName(Reflect.getMetadata(METHOD_METADATA, handler));
  const isRoute =
    Reflect.hasMetadata(CONTROLLER_WATERMARK, owner) && Reflect.hasMetadata(PATH_METADATA, handler);
  if (!isRoute || method === undefined || isSafe(method)) return;
  const otherwise = isIdempotent(method) ? 'by_method' : 'missing';
  const paths = listOf(Reflect.getMetadata(PATH_METADATA, owner)).flatMap((base) =>
    listOf(Reflect.getMetadata(PATH_METADATA, handler)).map((path) => joined(base, path)),
  );
  const version =
    Reflect.getMetadata(VERSION_METADATA, handler) ?? Reflect.getMetadata(VERSION_METADATA, owner);
  const versions = listOf(version).filter((each) => typeof each === 'string');
  const note = versions.length > 0 ? ` (version ${versions.join(', ')})` : '';
  for (const path of paths) {
    yield entry('http', `${method} ${path}${note}`, owner, handler, otherwise);
  }
}

function* entriesOf(owner: Class, handler: Handler): Generator<EntryPoint> {
  const kind = entryKindOf(handler);
  if (kind === undefined) return;
  for (const name of entryNamesOf(handler)) yield entry(kind, name, owner, handler, 'missing');
}

function entry(
  kind: EntryPoint['kind'],
  name: string,
  owner: Class,
  handler: Handler,
  otherwise: Coverage,
): EntryPoint {
  const place = { kind, name, handler: `${owner.name}.${handler.name}` };
  if (isCovered(handler)) {
    const policy = { ...policyOf(owner), ...policyOf(handler) };
    return { ...place, coverage: 'idempotent', policy };
  }
  const reason = exemptionOf(handler) ?? exemptionOf(owner);
  return reason === undefined
    ? { ...place, coverage: otherwise }
    : { ...place, coverage: 'exempt', reason };
}

/** Those of parent classes too, the nearest one of each name. */
function methodsOf(prototype: object): Handler[] {
  const found = new Map<string, Handler>();
  for (
    let at: object | null = prototype;
    at !== null && at !== Object.prototype;
    at = Object.getPrototypeOf(at) as object | null
  ) {
    for (const name of Object.getOwnPropertyNames(at)) {
      const value: unknown = Object.getOwnPropertyDescriptor(at, name)!.value;
      if (name === 'constructor' || typeof value !== 'function' || found.has(name)) continue;
      found.set(name, value as Handler);
    }
  }
  return [...found.values()];
}

function listOf(value: unknown): unknown[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [value];
}

function joined(...parts: unknown[]): string {
  const path = parts
    .map((part) => String(part).replace(/^\/+|\/+$/g, ''))
    .filter((part) => part !== '')
    .join('/');
  return `/${path}`;
}
