/** One cause why something is not safe, whatever number of runs has shown it. */
export interface Problem<Code extends string = string> {
  code: Code;
  /** What happened, in figures. */
  message: string;
  /** In which runs. */
  at: string[];
  /** What to change, with the page of the docs that explains it. */
  cure: string;
}

/** Problems of the same cause are one, with all the places where it showed. */
export class Problems<Code extends string> {
  private readonly found = new Map<string, Problem<Code>>();

  /** @param cause what tells this problem from others; by default its message */
  add(problem: Omit<Problem<Code>, 'at'> & { at: string }, cause: string = problem.message): void {
    const key = `${problem.code} ${cause}`;
    const known = this.found.get(key);
    if (!known) this.found.set(key, { ...problem, at: [problem.at] });
    else if (!known.at.includes(problem.at)) known.at.push(problem.at);
  }

  get list(): Problem<Code>[] {
    return [...this.found.values()];
  }
}

/** What a verification rejects with: readable as it is, and its parts for reports of your own. */
export class VerificationError<Code extends string = string> extends Error {
  constructor(
    subject: string,
    readonly problems: readonly Problem<Code>[],
    /** All runs, as a table. */
    readonly table: string,
  ) {
    super(
      `${subject}: ${count(problems.length)}\n\n${problems.map(render).join('\n\n')}\n\n${table}`,
    );
    this.name = 'VerificationError';
  }
}

function count(problems: number): string {
  return problems === 1 ? '1 problem' : `${problems} problems`;
}

function render({ code, message, at, cure }: Problem, index: number): string {
  return [
    `${index + 1}. ${message} [${code}]`,
    `   when: ${at.join('; ')}`,
    `   cure: ${cure}`,
  ].join('\n');
}
