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
  /** A part of the line of code that the problem leads to; the handler's method by default. */
  line?: RegExp;
  request?: Omit<Exclude<RequestSource, Function>, 'path'>;
  options?: CrashSafetyOptions;
}
