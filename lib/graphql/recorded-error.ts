/** What is kept of an error that is no HttpException: all that a client sees of it. */
export interface ErrorMembers {
  name: string;
  message: string;
  extensions?: object;
}

export function errorMembers(error: Error): ErrorMembers {
  const { name, message } = error;
  const extensions = extensionsOf(error);
  return { name, message, ...(extensions && { extensions }) };
}

/**
 * The error again. Any error with `extensions` becomes a GraphQLError of the
 * application's own copy of `graphql`, by the code that executes the operation.
 *
 * @param OwnError that copy's class, for filters that ask for it
 */
export function errorFrom(members: ErrorMembers, OwnError: GraphqlErrorClass = Error): Error {
  const { name, message, extensions } = members;
  const error = new OwnError(message, { extensions });
  if (error.name !== name) Object.defineProperty(error, 'name', { value: name });
  return extensions && !('extensions' in error) ? Object.assign(error, { extensions }) : error;
}

export type GraphqlErrorClass = new (message: string, options: any) => Error;

/** The part of GraphQLResolveInfo's schema that is used here. */
export interface Schema {
  getType(name: string): unknown;
}

const classes = new WeakMap<Schema, GraphqlErrorClass>();

/**
 * The class GraphQLError as the schema's own copy of `graphql` has it. An import could
 * find another copy, whose errors nobody recognises; what a scalar of the schema throws
 * cannot be of another one. Boolean is part of every schema.
 */
export function graphqlErrorOf(schema: Schema): GraphqlErrorClass {
  let found = classes.get(schema);
  if (!found) {
    const scalar = schema.getType('Boolean') as { parseValue(value: unknown): unknown };
    found = thrownBy(() => scalar.parseValue('no boolean'));
    classes.set(schema, found);
  }
  return found;
}

function thrownBy(work: () => unknown): GraphqlErrorClass {
  try {
    work();
  } catch (error) {
    if (error instanceof Error && error.name === 'GraphQLError') {
      return error.constructor as GraphqlErrorClass;
    }
  }
  return Error;
}

/** Codes that say that the operation may succeed another time, by their usual names. */
const TRANSIENT: Record<string, number> = {
  INTERNAL_SERVER_ERROR: 500,
  BAD_GATEWAY: 502,
  SERVICE_UNAVAILABLE: 503,
  GATEWAY_TIMEOUT: 504,
  TIMEOUT: 408,
  REQUEST_TIMEOUT: 408,
  TOO_EARLY: 425,
  TOO_MANY_REQUESTS: 429,
  RATE_LIMITED: 429,
};

/** What an error with a code counts as, where it says nothing more: the client's request cannot succeed. */
const DEFINITE = 422;

/**
 * The status that an error counts as, for the policies: its own `extensions.http.status`;
 * otherwise what its code stands for. An error without a code is none that the application
 * made for its clients, and counts as 500.
 */
export function statusOf(error: unknown): number {
  const { code, http } = (extensionsOf(error) ?? {}) as {
    code?: unknown;
    http?: { status?: unknown };
  };
  const status = http?.status;
  if (typeof status === 'number' && Number.isInteger(status) && status >= 400 && status <= 599) {
    return status;
  }
  if (typeof code !== 'string' || code === '') return 500;
  return TRANSIENT[code.toUpperCase()] ?? DEFINITE;
}

function extensionsOf(error: unknown): object | undefined {
  const { extensions } = (error ?? {}) as { extensions?: unknown };
  const given = typeof extensions === 'object' && extensions !== null;
  return given && Object.keys(extensions).length > 0 ? extensions : undefined;
}
