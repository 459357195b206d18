import {
  HTTP_CODE_METADATA,
  METHOD_METADATA,
  ROUTE_ARGS_METADATA,
} from '@nestjs/common/constants.js';
import { methodName } from '../policy/http-methods.js';
import type { IdempotentOperation } from './idempotent-operation.js';
import {
  pluginMetadata,
  SWAGGER,
  type OwnMetadata,
  type ParameterPart,
  type Part,
  type Responses,
} from './swagger-metadata.js';

/** A route's method, and where it is. */
export interface Handler {
  method: object;
  controller: Function;
  /** The name of the method in its class. */
  property: string;
}

/** `RouteParamtypes.HEADERS` of Nest, which is not exported. */
const HEADERS = '6';

/**
 * What the application says of a handler, together with what the library adds.
 * What the application has said stays as it is: its header, its responses.
 */
export function documented(
  handler: Handler,
  own: OwnMetadata,
  added: IdempotentOperation,
): Pick<OwnMetadata, 'operation' | 'parameters' | 'responses'> {
  const ofPlugin = pluginMetadata(handler.controller, handler.property);
  return {
    operation: operationPart(own.operation ?? fromPlugin(ofPlugin), added),
    parameters: parametersPart(handler, own.parameters, added.parameter),
    responses: responsesPart(handler, own.responses, ofPlugin, added),
  };
}

function operationPart(own: Part, { description }: IdempotentOperation): Part {
  const text = own.description;
  const said = typeof text === 'string' && text !== '' ? `${text}\n\n` : '';
  return { ...own, description: `${said}${description}` };
}

function fromPlugin(found: Part = {}): Part {
  const { summary, description, deprecated, tags } = found;
  return Object.fromEntries(
    Object.entries({ summary, description, deprecated, tags }).filter(
      ([, value]) => (value ?? undefined) !== undefined,
    ),
  );
}

function parametersPart(
  handler: Handler,
  own: ParameterPart[] | undefined,
  added: ParameterPart | undefined,
): ParameterPart[] | undefined {
  if (!added) return own;
  const ofClass = Reflect.getMetadata(SWAGGER.headersOfClass, handler.controller) as
    ParameterPart[] | undefined;
  const isSame = ({ name, in: place }: ParameterPart) =>
    place === 'header' && isSameHeader(name, added.name);
  if ([...(own ?? []), ...(ofClass ?? [])].some(isSame)) return own;
  // The handler may read the header itself. Under another spelling it would be listed twice.
  const read = headersReadBy(handler).find((name) => isSameHeader(name, added.name));
  return [...(own ?? []), { ...added, name: read ?? added.name }];
}

/** The names in `@Headers('name')`. */
function headersReadBy({ controller, property }: Handler): string[] {
  const given = Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, property) as
    Record<string, { data?: unknown }> | undefined;
  return Object.entries(given ?? {})
    .filter(([key, { data }]) => key.split(':')[0] === HEADERS && typeof data === 'string')
    .map(([, { data }]) => data as string);
}

function isSameHeader(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

function responsesPart(
  handler: Handler,
  own: Responses | undefined,
  ofPlugin: Part | undefined,
  added: IdempotentOperation,
): Responses {
  const ofClass = Reflect.getMetadata(SWAGGER.responses, handler.controller) as
    Responses | undefined;
  const said = own ?? usualResponse(handler.method, ofPlugin);
  const result: Responses = {};
  for (const [status, response] of Object.entries(said)) {
    result[status] = added.isReplayed(representative(status))
      ? { ...response, headers: { ...added.replayHeaders, ...response.headers } }
      : response;
  }
  for (const [status, response] of Object.entries(added.responses)) {
    if (!(status in said) && !(ofClass && status in ofClass)) result[status] = response;
  }
  return result;
}

/** What swagger would show where no decorator has said anything. */
function usualResponse(method: object, ofPlugin: Part = {}): Responses {
  const isPost = methodName(Reflect.getMetadata(METHOD_METADATA, method)) === 'POST';
  const code: unknown = Reflect.getMetadata(HTTP_CODE_METADATA, method) ?? (isPost ? 201 : 200);
  const { summary: _, deprecated: __, tags: ___, status = code, ...meta } = ofPlugin;
  const [type, isArray] = Array.isArray(meta.type)
    ? [meta.type[0], true]
    : [meta.type, meta.isArray];
  const response = { description: '', ...meta, ...(type !== undefined && { type, isArray }) };
  return { [String(status)]: response };
}

/** A status for `default` and for ranges such as `2XX`. */
function representative(status: string): number {
  const code = Number(status.replaceAll(/x/gi, '0'));
  return Number.isNaN(code) ? 200 : code;
}
