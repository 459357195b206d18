import type { ServerResponse } from 'node:http';

/**
 * Members that go in front of those of a response. Each is created once and uses
 * `this`: with functions of its own each response would have its own shape, and
 * every access to it would become slow.
 */
export interface Members {
  methods: object;
  getters?: Record<string, PropertyDescriptor>;
}

/** What Express adds to a response. */
interface ExpressResponse extends ServerResponse {
  app?: { response?: object; parent?: unknown };
}

/** The prototypes with members in front, by the members and by the prototype behind them. */
const layers = new WeakMap<Members, WeakMap<object, object>>();

/**
 * Puts members in front of those of a response.
 *
 * Express gives each response another prototype. From then on, V8 makes a hidden
 * class of its own for every property that is added to it, and every access to
 * such a response is slow. So there the members go to a prototype, of which all
 * responses of an application share one.
 */
export function overlay(raw: ServerResponse, members: Members): void {
  const prototype = Object.getPrototypeOf(raw) as object;
  if (!keepsPrototype(raw, prototype)) return define(raw, members);
  Object.setPrototypeOf(raw, layerOf(members, prototype));
  // Middleware that has replaced a method did so on the response itself.
  const { methods } = members;
  for (const name in methods) {
    if (Object.hasOwn(raw, name)) Reflect.set(raw, name, Reflect.get(methods, name));
  }
}

/** An application that is mounted in another one resets the prototype when a request leaves it. */
function keepsPrototype(raw: ExpressResponse, prototype: object): boolean {
  const { app } = raw;
  return app !== undefined && app.response === prototype && app.parent === undefined;
}

function layerOf(members: Members, prototype: object): object {
  let ofMembers = layers.get(members);
  if (!ofMembers) {
    ofMembers = new WeakMap();
    layers.set(members, ofMembers);
  }
  let layer = ofMembers.get(prototype);
  if (!layer) {
    layer = Object.create(prototype) as object;
    define(layer, members);
    ofMembers.set(prototype, layer);
  }
  return layer;
}

function define(target: object, { methods, getters }: Members): void {
  Object.assign(target, methods);
  for (const name in getters) Object.defineProperty(target, name, getters[name]!);
}
