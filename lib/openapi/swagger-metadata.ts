/**
 * The names under which @nestjs/swagger (11 and 12) keeps what its decorators
 * say. They are plain strings, so that nothing of it is imported: it need not be
 * installed.
 */
export const SWAGGER = {
  operation: 'swagger/apiOperation',
  parameters: 'swagger/apiParameters',
  responses: 'swagger/apiResponse',
  extensions: 'swagger/apiExtension',
  extraModels: 'swagger/apiExtraModels',
  /** `@ApiHeader()` on a class. */
  headersOfClass: 'swagger/apiHeaders',
  excludeController: 'swagger/apiExcludeController',
  schema: 'swagger/apiSchema',
} as const;

/** The function that its compiler plug-in adds to a class. */
const OF_PLUGIN = '_OPENAPI_METADATA_FACTORY';

/** A part of an OpenAPI document. */
export type Part = Record<string, unknown>;

export interface ParameterPart extends Part {
  name: string;
  in: string;
}

export interface ResponsePart extends Part {
  description: string;
  headers?: Part;
}

/** Responses by status, or `default`. */
export type Responses = Record<string, ResponsePart>;

/** What the decorators of the application say of a handler. */
export interface OwnMetadata {
  operation: Part | undefined;
  parameters: ParameterPart[] | undefined;
  responses: Responses | undefined;
  extensions: Part | undefined;
  extraModels: unknown[] | undefined;
}

export function readMetadata(handler: object): OwnMetadata {
  const read = <T>(name: string) => Reflect.getMetadata(name, handler) as T | undefined;
  return {
    operation: read(SWAGGER.operation),
    parameters: read(SWAGGER.parameters),
    responses: read(SWAGGER.responses),
    extensions: read(SWAGGER.extensions),
    extraModels: read(SWAGGER.extraModels),
  };
}

/** Puts the members that swagger reads one by one. Undefined: as if nobody had said anything. */
export function writeMetadata(
  handler: object,
  parts: Pick<OwnMetadata, 'operation' | 'parameters' | 'responses'>,
): void {
  for (const part of ['operation', 'parameters', 'responses'] as const) {
    const [name, value] = [SWAGGER[part], parts[part]];
    if (value === undefined) Reflect.deleteMetadata(name, handler);
    else Reflect.defineMetadata(name, value, handler);
  }
}

/**
 * What the compiler plug-in found out about a method: comments and return types.
 * Swagger takes it where no decorator has said anything, so it is lost as soon as
 * somebody has, unless it is said again.
 */
export function pluginMetadata(controller: Function, method: string): Part | undefined {
  for (
    let at: unknown = controller;
    typeof at === 'function' && at !== Function.prototype;
    at = Object.getPrototypeOf(at)
  ) {
    const factory = (at as unknown as Record<string, unknown>)[OF_PLUGIN];
    if (!Object.hasOwn(at, OF_PLUGIN) || typeof factory !== 'function') continue;
    const found = (factory as () => Record<string, Part | undefined>).call(at)[method];
    if (found) return found;
  }
  return undefined;
}

/** A class that swagger lists among the schemas of a document under this name. */
export function namedSchema(name: string, schema: Part): { readonly ref: string; model: unknown } {
  const model = class {};
  Object.defineProperty(model, 'name', { value: name });
  Reflect.defineMetadata(SWAGGER.schema, [{ name, ...schema }], model);
  return { ref: `#/components/schemas/${name}`, model };
}
