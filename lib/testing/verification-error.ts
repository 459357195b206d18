/** One cause why something is not safe, whatever number of runs has shown it. */
export interface Problem<Code extends string = string> {
  code: Code;
  /** What happened, in figures. */
  message: string;
  /** In which runs. */
  at: string[];
  /** What to change. */
  cure: string;
  /** The section of the docs that explains it. */
  docs: string;
}

/** Where in the user's code a problem comes from, if that is known. */
interface Origin {
  line?: string | undefined;
  from?: readonly string[];
}

/** More places of one problem tell nobody more; `problems` has them all. */
const MOST_PLACES = 4;

/** What a verification rejects with: readable as it is, and its parts for reports of your own. */
export class VerificationError<Code extends string = string> extends Error {
  constructor(
    subject: string,
    readonly problems: readonly Problem<Code>[],
    /** All runs, as a table. */
    readonly table: string,
    notes: readonly string[] = [],
  ) {
    const count = problems.length === 1 ? '1 problem' : `${problems.length} problems`;
    super(
      [
        `${subject}: ${count}.`,
        ...problems.map(describe),
        ...(notes.length > 0 ? [notes.map((note) => `Note: ${note}`).join('\n')] : []),
        table,
      ].join('\n\n'),
    );
    this.name = new.target.name;
    // Test runners print the enumerable members of an error; the message has said it all.
    for (const member of ['problems', 'table'] as const) {
      Object.defineProperty(this, member, { enumerable: false });
    }
    // The stack leads into the kit, which is of no use to anybody.
    this.stack = `${this.name}: ${this.message}`;
  }
}

function describe(
  { code, message, at, line, from = [], cure, docs }: Problem & Origin,
  index: number,
): string {
  const places = at.slice(0, MOST_PLACES).join('; ');
  const more = at.length > MOST_PLACES ? `; and ${at.length - MOST_PLACES} more` : '';
  return [
    `${index + 1}. ${code}: ${message}`,
    ...(line === undefined ? [] : [`   in:   ${[line, ...from].join(', called in ')}`]),
    `   runs: ${places}${more}`,
    `   cure: ${cure}`,
    `   see:  ${docs}`,
  ].join('\n');
}
