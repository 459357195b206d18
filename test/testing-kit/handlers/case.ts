import { readFileSync } from 'node:fs';
import type {
  CrashSafetyOptions,
  CrashSafetyProblemCode,
  RequestSource,
} from 'nestjs-atomic-idempotency/testing';

/** One small handler, and what the kit has to say about it. */
export interface HandlerCase {
  /** What it does wrong, or right: the name of the test. */
  name: string;
  path: string;
  /** Undefined where it is right. */
  code?: CrashSafetyProblemCode;
  /** The one problem names this. */
  message?: RegExp;
  /** Of the request; a function where each key needs its own. */
  body?: object | ((n: number) => object);
  options?: CrashSafetyOptions;
}

export function requestOf({ path, body }: HandlerCase): RequestSource {
  return (n) => ({ path, ...(body && { body: typeof body === 'function' ? body(n) : body }) });
}

/**
 * The line of the mistake, `test/testing-kit/handlers/wrong-calls.ts:24`: it ends
 * with `// wrong: ` and the last part of the handler's path, or the line before
 * is that. Undefined where the
 * mistake is not a line of the handler, or not one that can be known.
 */
export function mistakeOf({ path }: HandlerCase): string | undefined {
  const [, controller, name] = path.split('/');
  const file = `test/testing-kit/handlers/${controller}.ts`;
  const lines = readFileSync(file, 'utf8').split('\n');
  const mark = `// wrong: ${name}`;
  const index = lines.findIndex((line) => line.endsWith(mark));
  if (index < 0) return undefined;
  return `${file}:${lines[index]!.trim() === mark ? index + 2 : index + 1}`;
}
