// Statements that share a round trip: they are sent one after another, with one Sync at the end, so
// that the server skips what follows a statement that fails. It uses what pg offers to packages
// such as pg-cursor; where a client lacks it, statements are sent one by one.

/** What is used of pg's connection, which turns calls into messages to the server. */
interface Connection {
  parse(query: { text: string; name?: string }): void;
  bind(config: object): void;
  execute(config: object): void;
  query(text: string): void;
  emit(event: string, message?: unknown): boolean;
}

/** What is used of pg's query, which turns messages of the server into a result. */
interface DriverQuery {
  callback: (error: Error | null) => void;
  submit(connection: Connection): Error | null;
  handleCommandComplete(message: { text: string }, connection: Connection): void;
  requiresPreparation(): boolean;
}

type QueryClass = new (config: object) => DriverQuery;

interface Driver {
  query(query: DriverQuery): unknown;
  connection?: Connection;
  /** pg sends each statement at once, and refuses queries of other packages. */
  pipeline?: boolean;
  constructor: { Query?: QueryClass };
}

/** A statement for `client.query()`. */
export interface DriverStatement {
  text: string;
  values: unknown[];
  /** Undefined: it is not prepared. */
  name?: string | undefined;
}

const USED = ['parse', 'bind', 'execute', 'query', 'emit'] as const;

/** Not with pg-native, and not with a client that is no client of pg. */
export function canShareTrips(client: object): boolean {
  const { connection, pipeline, constructor } = client as Driver;
  const complete = connection && USED.every((name) => typeof connection[name] === 'function');
  return complete === true && !pipeline && typeof constructor.Query === 'function';
}

/** Statements without results that are sent with the next statement of a connection, before it. */
export class Preceding {
  /** The server has executed them. */
  done = false;
  private readonly texts: string[] = [];
  private readonly connection: Connection;
  private waiting = false;

  /** @param onDone is told when the server has executed them */
  constructor(
    client: object,
    private readonly onDone: () => void,
  ) {
    this.connection = (client as Driver).connection!;
  }

  add(text: string): void {
    this.texts.push(text);
    if (!this.waiting) this.wait();
  }

  /** @returns true if they had not been sent, and now never will be */
  withdraw(): boolean {
    const { waiting } = this;
    if (waiting) this.stopWaiting();
    return waiting;
  }

  /** Until the connection is about to send something: with parameters, prepared, or neither. */
  private wait(): void {
    const { connection } = this;
    this.waiting = true;
    override(connection, {
      parse: (query) => {
        this.send();
        connection.parse(query);
      },
      bind: (config) => {
        this.send();
        connection.bind(config);
      },
      query: (text) => {
        this.stopWaiting();
        this.awaitReplies();
        connection.query([...this.texts, text].join('; '));
      },
    });
  }

  private stopWaiting(): void {
    this.waiting = false;
    restore(this.connection, 'parse', 'bind', 'query');
  }

  private send(): void {
    this.stopWaiting();
    this.awaitReplies();
    for (const text of this.texts) sendText(this.connection, text);
  }

  /** The replies to these statements are not for the query that they were sent with. */
  private awaitReplies(): void {
    const { connection } = this;
    let left = this.texts.length;
    const stop = () => restore(connection, 'emit');
    const emit: Connection['emit'] = (event, message) => {
      if (event === 'parseComplete') return true;
      if (event === 'commandComplete') {
        left -= 1;
        if (left > 0) return true;
        stop();
        this.done = true;
        this.onDone();
        return true;
      }
      if (event === 'errorMessage' || event === 'readyForQuery') stop();
      return Object.getPrototypeOf(connection).emit.call(connection, event, message) as boolean;
    };
    override(connection, { emit });
  }
}

/**
 * Methods of one connection, until they are restored. Not assigned one by one: V8 creates a function
 * that is written right behind the `=` of a property in its old generation, where it outlives its use.
 */
function override(connection: Connection, methods: Partial<Connection>): void {
  Object.assign(connection, methods);
}

function restore(connection: Connection, ...names: (keyof Connection)[]): void {
  for (const name of names) Reflect.deleteProperty(connection, name);
}

/** The outcome of two statements. */
export interface FollowedResult {
  /** The server's word for the second one; undefined if it was not sent. */
  followed: string | undefined;
}

/** The second of two statements failed. */
export class FollowingFailed extends Error {
  constructor(override readonly cause: Error) {
    super(cause.message, { cause });
  }
}

/** Sends a statement, and then, if it succeeds, another one without results. */
export function sendFollowed(
  client: object,
  statement: DriverStatement,
  text: string,
): Promise<FollowedResult> {
  const FollowedQuery = followedQueryOf((client as Driver).constructor.Query!);
  return new Promise((resolve, reject) => {
    const query = new FollowedQuery(statement, text);
    const callback = (error: Error | null) => {
      if (error) reject(query.ended ? new FollowingFailed(error) : error);
      else resolve({ followed: query.followed });
    };
    query.callback = callback;
    // A package that wraps the driver may return a promise for it.
    void Promise.resolve((client as Driver).query(query)).catch(reject);
  });
}

type FollowedQueryClass = ReturnType<typeof makeFollowedQuery>;

const followedQueries = new WeakMap<QueryClass, FollowedQueryClass>();

/** Of the copy of pg that made the client. */
function followedQueryOf(Query: QueryClass): FollowedQueryClass {
  const made = followedQueries.get(Query) ?? makeFollowedQuery(Query);
  followedQueries.set(Query, made);
  return made;
}

function makeFollowedQuery(Query: QueryClass) {
  return class FollowedQuery extends Query {
    /** The server has executed the first statement. */
    ended = false;
    followed: string | undefined;

    constructor(
      statement: DriverStatement,
      private readonly following: string,
    ) {
      super(statement);
    }

    /** The simple protocol has no place for the second statement. */
    override requiresPreparation(): boolean {
      return true;
    }

    override submit(connection: Connection): Error | null {
      // A statement whose values cannot be sent is not executed, and must not be followed.
      const execute: Connection['execute'] = (config) => {
        restore(connection, 'execute');
        connection.execute(config);
        sendText(connection, this.following);
      };
      override(connection, { execute });
      try {
        return super.submit(connection);
      } finally {
        restore(connection, 'execute');
      }
    }

    override handleCommandComplete(message: { text: string }, connection: Connection): void {
      if (this.ended) this.followed = message.text;
      else super.handleCommandComplete(message, connection);
      this.ended = true;
    }
  };
}

function sendText(connection: Connection, text: string): void {
  connection.parse({ text });
  connection.bind({});
  connection.execute({});
}
