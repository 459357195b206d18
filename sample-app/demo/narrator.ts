import { isDeepStrictEqual } from 'node:util';
import { duration, paint, print } from './terminal.js';

export interface Verdict {
  chapter: string;
  checks: number;
  broken: number;
  ms: number;
}

/** Tells one chapter in the terminal, and keeps count of what held. */
export class Narrator {
  private checks = 0;
  private broken = 0;
  private readonly begun = performance.now();

  constructor(
    private readonly chapter: string,
    number: number,
  ) {
    print();
    print(paint('bold', `${number}. ${chapter}`));
  }

  /** What happens next, in words. */
  say(text: string): void {
    print(`   ${text}`);
  }

  /** Something that happened, and how long it took. */
  event(ms: number, text: string): void {
    print(`${paint('gray', duration(ms))}  ${text}`);
  }

  expect<T>(claim: string, actual: T, expected: T): void {
    this.checks += 1;
    if (isDeepStrictEqual(actual, expected)) {
      print(`         ${paint('green', '✓')} ${claim}`);
      return;
    }
    this.broken += 1;
    print(`         ${paint('red', '✗')} ${claim}`);
    print(paint('red', `           expected ${JSON.stringify(expected)}`));
    print(paint('red', `           but got  ${JSON.stringify(actual)}`));
  }

  /** The chapter could not be told to its end. */
  fail(error: unknown): void {
    this.broken += 1;
    print(`         ${paint('red', '✗')} ${error instanceof Error ? error.stack : String(error)}`);
  }

  verdict(): Verdict {
    return {
      chapter: this.chapter,
      checks: this.checks,
      broken: this.broken,
      ms: performance.now() - this.begun,
    };
  }
}
