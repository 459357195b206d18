/** The outcome of a phase, as it is stored. */
export interface LastPhase {
  name: string;
  /** JSON text. */
  result: string | null;
}

/**
 * The outcome of an attempt's last phase, which is being recorded while the
 * attempt ends. The outcome of the attempt comes after it or travels with it.
 */
export interface PhaseOnItsWay {
  /** Resolves, and never rejects, when it is recorded, or will not be: then the attempt is in doubt. */
  readonly settled: Promise<void>;
  /** Whoever takes it records it, and tells. Undefined: its own statement has left. */
  take(): LastPhase | undefined;
  /** @param recorded false: the lease is lost */
  taken(recorded: boolean): void;
  /** It could not be recorded with the outcome of the attempt, or that is not known. */
  giveBack(cause: unknown): void;
}

/** What ends a phase in one statement with its key: the name of the rows that passed the fence, and their columns. */
interface EndedWith {
  fence: string;
  attempt: string;
  name: string;
  result: string;
  returning?: string;
}

/**
 * Ends phases that were intended by the attempt that passed the fence in the same
 * statement, each of them finished.
 */
export function endPhaseSql(
  phases: string,
  { fence, attempt, name, result, returning }: EndedWith,
): string {
  return `UPDATE ${phases} p
      SET state = 'finished', attempt = ${attempt}, result = ${result}, finished_at = statement_timestamp()
      FROM ${fence}
      WHERE p.scope = ${fence}.scope AND p.key_id = ${fence}.id AND p.name = ${name}
        AND p.state IN ('intended', 'withdrawn', 'reconciled')
      ${returning ? `RETURNING ${returning}` : ''}`;
}
