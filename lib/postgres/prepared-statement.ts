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

  /** The name for its next execution. */
  nextName(): string {
    this.sent += 1;
    const generation = Math.floor(Math.log2(Math.max(FIRST_GENERATION, this.sent)));
    return `idempotency_${this.hash}_${generation}`;
  }
}
