// What is used of pg's own queries, and how a statement is sent with one of them.

/** A statement for `client.query()`. */
export interface DriverStatement {
  text: string;
  values: unknown[];
  /** Undefined: it is not prepared. */
  name?: string | undefined;
}

/** What is used of a result of pg. Its own types are not named, because not everybody has them. */
export interface QueriedRows {
  rows: unknown[];
}

/** What is used of pg's connection, which turns calls into messages to the server. */
export interface Connection {
  parse(query: { text: string; name?: string }): void;
  bind(config: object): void;
  execute(config: object): void;
  query(text: string): void;
  emit(event: string, message?: unknown): boolean;
}

/** What is used of pg's query, which turns messages of the server into a result. */
export interface DriverQuery {
  callback: (error: Error | null, result?: unknown) => void;
  submit(connection: Connection): Error | null;
  handleCommandComplete(message: { text: string }, connection: Connection): void;
  handleError(error: Error, connection: Connection): void;
  requiresPreparation(): boolean;
  /** Undefined: it is not prepared. */
  name: string | undefined;
}

export type QueryClass = new (text: string, values: unknown[]) => DriverQuery;

export interface Driver {
  query(query: object): unknown;
  connection?: Connection;
  /** pg sends each statement at once, and refuses queries of other packages. */
  pipeline?: boolean;
  constructor: { Query?: QueryClass };
}

/**
 * Sends a statement. With a query of ours: pg's own promise comes with a callback
 * that V8 creates in its old generation, where it would keep the parameters and
 * the rows of each statement through every minor collection; and pg copies a config
 * with all descriptors of its properties.
 *
 * @param client a `ClientBase` of pg
 */
export function sendStatement(client: object, statement: DriverStatement): Promise<QueriedRows> {
  const { Query } = (client as Driver).constructor;
  // Queries of pg-native are others. The boot refuses it; it has to come that far.
  if (typeof Query !== 'function' || 'native' in client) {
    return (client as Driver).query(statement) as Promise<QueriedRows>;
  }
  const query = new Query(statement.text, statement.values);
  query.name = statement.name;
  return sendQuery(client, query) as Promise<QueriedRows>;
}

/** Sends a query of the caller's. */
export function sendQuery(client: object, query: DriverQuery): Promise<unknown> {
  return new Promise((resolve, reject) => {
    // Not written right behind the `=`, for the reason above.
    const callback: DriverQuery['callback'] = (error, result) =>
      error ? reject(error) : resolve(result);
    query.callback = callback;
    // A package that wraps the driver may return a promise for it.
    const returned = (client as Driver).query(query) as Partial<PromiseLike<unknown>> | undefined;
    if (typeof returned?.then === 'function') returned.then(undefined, reject);
  });
}
