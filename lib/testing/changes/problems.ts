import type { Problem } from '../verification-error.js';

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
