// Statements that share a round trip: they are sent one after another, with one Sync at the end, so
// that the server skips what follows a statement that fails. It uses what pg offers to packages
// such as pg-cursor; where a client lacks it, statements are sent one by one.

import {
  type Connection,
  type Driver,
  type DriverQuery,
  type DriverStatement,
  type QueryClass,
} from './driver-statement.js';

const USED = ['parse', 'bind', 'execute', 'query', 'emit'] as const;

/** Not with pg-native, and not with a client that is no client of pg. */
export function canShareTrips(client: object): boolean {
  const { connection, pipeline, constructor } = client as Driver;
  if (connection && trips.has(connection)) return true;
  const complete = connection && USED.every((name) => typeof connection[name] === 'function');
  return complete === true && !pipeline && typeof constructor.Query === 'function';
}

/** Statements without results that are sent with the next statement of a connection, before it. */
export class Preceding {
  /** The server has executed them. */
  done = false;
  private readonly texts: string[] = [];
  private readonly trip: Trip;
  /** How many of them the server has yet to execute. */
  private left = 0;

  /** @param onDone is told when the server has executed them */
  constructor(
    client: object,
    private readonly onDone: () => void,
  ) {
    this.trip = tripOf((client as Driver).connection!);
  }

  add(text: string): void {
    this.texts.push(text);
    this.trip.waiting = this;
  }

  /** @returns true if they had not been sent, and now never will be */
  withdraw(): boolean {
    const waited = this.trip.waiting === this;
    if (waited) this.trip.waiting = undefined;
    return waited;
  }

  /** The connection is about to send a statement. @returns what it has to send before that */
  leave(): readonly string[] {
    this.left = this.texts.length;
    this.trip.waiting = undefined;
    this.trip.answered = this;
    return this.texts;
  }

  /** @returns true if a message of the server is the reply to one of these statements */
  takes(event: string): boolean {
    if (event === 'parseComplete') return true;
    if (event === 'commandComplete') {
      this.left -= 1;
      if (this.left > 0) return true;
      this.trip.answered = undefined;
      this.done = true;
      this.onDone();
      return true;
    }
    if (event === 'errorMessage' || event === 'readyForQuery') this.trip.answered = undefined;
    return false;
  }
}

/** What a connection sends besides the statement that it is asked to send. */
interface Trip {
  /** What comes before the next statement. */
  waiting: Preceding | undefined;
  /** What was sent before a statement: its replies come first, and are not for that statement. */
  answered: Preceding | undefined;
  /** What comes right behind the next execution. */
  following: string | undefined;
}

const trips = new WeakMap<Connection, Trip>();

/**
 * The methods of a connection are replaced once, and stay. Added and deleted for
 * each transaction, they would make V8 keep the connection in a form in which
 * every access to it is slow.
 */
function tripOf(connection: Connection): Trip {
  const known = trips.get(connection);
  if (known) return known;
  const trip: Trip = { waiting: undefined, answered: undefined, following: undefined };
  const { parse, bind, execute, query, emit } = connection;
  const sendText = (text: string) => {
    parse.call(connection, { text });
    bind.call(connection, {});
    execute.call(connection, {});
  };
  const precede = () => {
    if (trip.waiting) for (const text of trip.waiting.leave()) sendText(text);
  };
  // A statement is sent with parameters, prepared, or neither.
  const replaced: Connection = {
    parse(statement) {
      precede();
      parse.call(connection, statement);
    },
    bind(config) {
      precede();
      bind.call(connection, config);
    },
    query(text) {
      const preceding = trip.waiting?.leave() ?? [];
      query.call(connection, [...preceding, text].join('; '));
    },
    execute(config) {
      execute.call(connection, config);
      const { following } = trip;
      trip.following = undefined;
      if (following !== undefined) sendText(following);
    },
    emit(event, message) {
      return trip.answered?.takes(event) ? true : emit.call(connection, event, message);
    },
  };
  Object.assign(connection, replaced);
  trips.set(connection, trip);
  return trip;
}

/** The second of two statements failed. */
export class FollowingFailed extends Error {
  constructor(override readonly cause: Error) {
    super(cause.message, { cause });
  }
}

/** A statement with another one behind it. */
export interface FollowedQuery extends DriverQuery {
  /** The server's word for the second one; undefined if it was not sent. */
  followed: string | undefined;
}

/** A statement and, if it succeeds, another one without results. */
export function followedQuery(
  client: object,
  statement: DriverStatement,
  text: string,
): FollowedQuery {
  const Followed = followedQueryOf((client as Driver).constructor.Query!);
  return new Followed(statement, text);
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
  return class extends Query implements FollowedQuery {
    /** The server has executed the first statement. */
    ended = false;
    followed: string | undefined;

    constructor(
      statement: DriverStatement,
      private readonly following: string,
    ) {
      super(statement.text, statement.values);
      this.name = statement.name;
    }

    /** The simple protocol has no place for the second statement. */
    override requiresPreparation(): boolean {
      return true;
    }

    override submit(connection: Connection): Error | null {
      const trip = tripOf(connection);
      trip.following = this.following;
      try {
        return super.submit(connection);
      } finally {
        // A statement whose values cannot be sent is not executed, and must not be followed.
        trip.following = undefined;
      }
    }

    override handleCommandComplete(message: { text: string }, connection: Connection): void {
      if (this.ended) this.followed = message.text;
      else super.handleCommandComplete(message, connection);
      this.ended = true;
    }

    override handleError(error: Error, connection: Connection): void {
      super.handleError(this.ended ? new FollowingFailed(error) : error, connection);
    }
  };
}
