import { METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants.js';
import { IdempotencyConfigurationError } from './policy/configuration-error.js';

/** Metadata of other kinds of handlers, by name: their packages need not be installed. */
const OTHER_HANDLERS: readonly [metadata: string, what: string][] = [
  ['microservices:pattern', 'a message handler (@MessagePattern() or @EventPattern())'],
  ['graphql:resolver_type', 'a GraphQL resolver'],
  ['websockets:message_mapping', 'a handler of a WebSocket gateway (@SubscribeMessage())'],
];
const OTHER_CLASSES: readonly [metadata: string, what: string][] = [
  ['graphql:resolver_type', 'a GraphQL resolver'],
  ['websockets:is_gateway', 'a WebSocket gateway'],
];

const CURE =
  'An Idempotency-Key is a header of an HTTP request. Put @Idempotent() on an HTTP route of a controller, ' +
  'and for anything else pass a key of your own to what it calls; or remove the decorator.';

/** Why `@Idempotent()` on a method would protect nothing, or not all of its callers. */
export function misplacedOn(
  owner: { name: string },
  method: { name: string },
  isController: boolean,
): Error | undefined {
  const where = `@Idempotent() of ${owner.name}.${method.name}`;
  const other = kindOf(method, OTHER_HANDLERS);
  const isRoute =
    Reflect.hasMetadata(METHOD_METADATA, method) && Reflect.hasMetadata(PATH_METADATA, method);
  if (other !== undefined && isRoute) {
    return new IdempotencyConfigurationError(
      `${where}: the method is an HTTP route and ${other} as well. Messages carry no Idempotency-Key and would not be protected. Give them a method of their own.`,
    );
  }
  if (isController && isRoute) return undefined;
  const what =
    other ??
    (isController
      ? 'a plain method without @Post() or another HTTP method'
      : `a method of ${kindOfClass(owner)}`);
  return new IdempotencyConfigurationError(
    `${where} would protect nothing: it is ${what}. ${CURE}`,
  );
}

/** `@Idempotent()` on a class that is not a controller, or has no route for it. */
export function misplacedOnClass(owner: { name: string }, isController: boolean): Error {
  const what = isController
    ? 'no route of this controller is covered: on a class it covers the POST, PATCH and @All() routes. Put @Idempotent() on the handlers that are meant, or remove the decorator.'
    : `it is ${kindOfClass(owner)}. ${CURE}`;
  return new IdempotencyConfigurationError(
    `@Idempotent() of ${owner.name} would protect nothing: ${what}`,
  );
}

function kindOfClass(owner: object): string {
  return kindOf(owner, OTHER_CLASSES) ?? 'a provider, which serves no requests';
}

function kindOf(target: object, kinds: typeof OTHER_HANDLERS): string | undefined {
  return kinds.find(([metadata]) => Reflect.hasMetadata(metadata, target))?.[1];
}
