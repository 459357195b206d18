import { createHash } from 'node:crypto';

/** A plan is kept for at least so many executions. */
const FIRST_GENERATION = 64;

/**
 * A statement that is sent all the time: each connection parses and plans it
 * once, and not each time anew, which would cost about as much as running it.
 *
 * A plan that was made for a small table would be wrong for a large one, and
 * PostgreSQL does not notice before the next ANALYZE. So the statement gets a
 * new name, and with it a new plan, each time it has been sent twice as often.
 */
export class PreparedStatement {
  private readonly hash: string;
  private sent = 0;

  constructor(readonly text: string) {
    this.hash = createHash('sha256').update(text).digest('hex').slice(0, 16);
  }

  /** The statement for its next execution, under its name. */
  next(): string {
    this.sent += 1;
    const generation = Math.floor(Math.log2(Math.max(FIRST_GENERATION, this.sent)));
    return new NamedText(this.text, `idempotency_${this.hash}_${generation}`) as unknown as string;
  }
}

/**
 * The statement's text to TypeORM, to its loggers and its subscribers, and a
 * query with a name to pg, which gets it from TypeORM as it is.
 */
class NamedText extends String {
  constructor(
    readonly text: string,
    readonly name: string,
  ) {
    super(text);
  }
}

/**
 * The connection has no statement of this name, or has one already: a proxy
 * gives each transaction another connection. Or the table was altered. In any
 * case the statement was not executed.
 */
export function isUnprepared(code: string | undefined): boolean {
  return code === '26000' || code === '42P05' || code === '0A000';
}
