import type { CrashSafetyRun, KitAnswer } from './crash-safety.report.js';

/** The request to your own endpoint. Its key is made by the kit, a fresh one for each run. */
export interface CrashSafetyRequest {
  /** @default 'POST' */
  method?: string;
  path: string;
  headers?: Record<string, string>;
  /** Strings and buffers are sent as they are, everything else as JSON. */
  body?: unknown;
}

/** What differs between two runs by nature, and is not to be compared. */
export interface IgnoreOptions {
  /** Tables that others write to as well, or that may hold anything: `'page_views'`, `'audit.log'`. */
  tables?: readonly string[];
  /** Columns, of all tables (`'position'`) or of one (`'orders.position'`). */
  columns?: readonly string[];
  /** Hosts whose calls do not count, with or without a port: `'metrics.internal'`, `'localhost:4318'`. */
  hosts?: readonly string[];
  /** Members of a JSON answer, such as `'createdAt'`, `'order.eta'`, `'items[].price'`. */
  json?: readonly string[];
}

export interface CrashSafetyOptions {
  /**
   * Whether a key may end as `unknown`. It does by design where nobody can know
   * what happened: a foreign phase with `inDoubt: 'stop'`, or a crash before the
   * first phase of a route that is not phased. Use `'fail'` where every crash has
   * to be survived. An effect key that the other system has forgotten, a day
   * later, makes an outcome unknown by right, with `'fail'` as well.
   * @default 'report'
   */
  unknown?: 'report' | 'fail';

  /**
   * Whether an answer after a crash is as good as one without.
   * @default the same status, media type and JSON; what differs between two undisturbed runs is set aside
   */
  sameAnswer?: (undisturbed: KitAnswer, afterCrash: KitAnswer) => boolean;

  /** Called when a key is through, for checks of your own. What it throws is a problem of the verdict. */
  afterEach?: (run: CrashSafetyRun) => void | Promise<void>;

  /**
   * Counts of the outside world, such as charges at a fake provider. Each run
   * must change them as the undisturbed one did. Called before and after each run.
   */
  observe?: () => Counts | Promise<Counts>;

  /** What the undisturbed run must change of the counts that `observe` returns. */
  expected?: Counts;

  /**
   * The status of the right answer. Without it, it has to be below 400.
   */
  expectStatus?: number;

  /** Something else that happens between a crash and its retry: another customer buys the last piece. */
  meanwhile?: (run: { key: string; disturbance: string }) => void | Promise<void>;

  /** What is not to be compared. */
  ignore?: IgnoreOptions;

  /**
   * How many milliseconds a request may take. One that takes longer hangs.
   * @default 5000
   */
  timeout?: number;

  /**
   * How many retries a key may need.
   * @default 10
   */
  retries?: number;

  /**
   * How many runs there may be. If the plan has more, those at the least
   * informative points are left out, and the report says which.
   * @default 100
   */
  runs?: number;

  /**
   * Told of each run that has ended.
   * @default a line on stderr, if that is a terminal
   */
  progress?: false | ((progress: CrashSafetyProgress) => void);
}

/** By name: numbers, or lists of which the length counts. */
export type Counts = Record<string, number | readonly unknown[]>;

export interface CrashSafetyProgress {
  done: number;
  of: number;
  /** The run that has ended. */
  disturbance: string;
  problems: number;
}

/** A request, or one for each run: a fresh body for unique columns and limited stock. */
export type RequestSource = CrashSafetyRequest | ((n: number) => CrashSafetyRequest);
