import { IdempotencyConfigurationError } from './policy/configuration-error.js';
import { hasOwnExemption } from './policy/idempotent-metadata.js';
import { entryKindOf, isRoute, PATTERN_METADATA } from './policy/handler-kinds.js';

/** Metadata of other kinds of handlers, by name: their packages need not be installed. */
const OTHER_HANDLERS: readonly [metadata: string, what: string][] = [
  [
    'graphql:resolver_type',
    'a GraphQL query, subscription or field, which changes nothing by the rules of GraphQL',
  ],
  [
    'graphql:resolve_property',
    'a field of a GraphQL type (@ResolveField()), which is resolved again for every answer',
  ],
  ['websockets:message_mapping', 'a handler of a WebSocket gateway (@SubscribeMessage())'],
];
const OTHER_CLASSES: readonly [metadata: string, what: string][] = [
  ['graphql:resolver_type', 'a GraphQL resolver without a mutation'],
  ['websockets:is_gateway', 'a WebSocket gateway'],
];

const CURE =
  'Put @Idempotent() on an HTTP route, a message handler (@MessagePattern() or @EventPattern()) or a GraphQL mutation; ' +
  'around anything else use Idempotency.run() with a key of its own; or remove the decorator.';

/** Why `@Idempotent()` on a method would protect nothing. */
export function misplacedOn(
  owner: { name: string },
  method: { name: string },
  isController: boolean,
): Error | undefined {
  const where = `@Idempotent() of ${owner.name}.${method.name}`;
  const kind = entryKindOf(method);
  // Nest takes messages to controllers only, and mutations to providers as well.
  if (kind === 'mutation' || (isController && (kind !== undefined || isRoute(method)))) {
    return streamOf(method, where);
  }
  const what =
    kindOf(method, OTHER_HANDLERS) ??
    (isController
      ? 'a plain method without @Post(), @MessagePattern() or the like'
      : `a method of ${kindOfClass(owner)}`);
  return new IdempotencyConfigurationError(
    `${where} would protect nothing: it is ${what}. ${CURE}`,
  );
}

/** `@Idempotent()` on a class that has nothing for it. */
export function misplacedOnClass(owner: { name: string }, isController: boolean): Error {
  const what = isController
    ? 'no handler of this controller is covered: on a class it covers the POST, PATCH and @All() routes and the message and event handlers. Put @Idempotent() on the handlers that are meant, or remove the decorator.'
    : `it is ${kindOfClass(owner)}. ${CURE}`;
  return new IdempotencyConfigurationError(
    `@Idempotent() of ${owner.name} would protect nothing: ${what}`,
  );
}

/** A stream has neither one payload to compare nor one result to keep. */
function streamOf(method: object, where: string): Error | undefined {
  const patterns = [Reflect.getMetadata(PATTERN_METADATA, method) as unknown].flat();
  const streams = patterns.some(
    (pattern) =>
      (pattern as { streaming?: string } | undefined)?.streaming === 'rx_stream' ||
      (pattern as { streaming?: string } | undefined)?.streaming === 'pt_stream',
  );
  if (!streams) return undefined;
  return new IdempotencyConfigurationError(
    `${where}: the handler takes a stream of gRPC, which has neither one payload to compare nor one result to keep. ` +
      'Wrap the work for each message in Idempotency.run(), or remove the decorator.',
  );
}

function kindOfClass(owner: object): string {
  return kindOf(owner, OTHER_CLASSES) ?? 'a provider, which serves no requests';
}

function kindOf(target: object, kinds: typeof OTHER_HANDLERS): string | undefined {
  return kinds.find(([metadata]) => Reflect.hasMetadata(metadata, target))?.[1];
}

/** @param name class and method */
export function refuseContradiction(name: string, handler: object): void {
  if (!hasOwnExemption(handler)) return;
  throw new IdempotencyConfigurationError(
    `${name} has @Idempotent() and @NotIdempotent(), which contradict each other. Remove one of the two.`,
  );
}
