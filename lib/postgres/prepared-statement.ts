import { createHash } from 'node:crypto';

/** A plan is kept for at least this many executions. */
const FIRST_GENERATION = 64;

/**
 * A frequent statement: each connection parses and plans it once, because parsing
 * and planning cost about as much as running it.
 *
 * A plan that was made for a small table would be wrong for a large one, and
 * PostgreSQL does not notice before the next ANALYZE. So the statement gets a new
 * name, and with it a new plan, each time its number of executions has doubled.
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
