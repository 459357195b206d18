/** The request to your own endpoint. Its key is made by the kit, a fresh one for each crash point. */
export interface CrashSafetyRequest {
  /** @default 'POST' */
  method?: string;
  path: string;
  headers?: Record<string, string>;
  /** Strings and buffers are sent as they are, everything else as JSON. */
  body?: unknown;
}

export interface CrashSafetyOptions {
  /**
   * Whether a key may end as `unknown`. It does by design where nobody can know
   * what happened: a foreign phase with `inDoubt: 'stop'`, or a crash before the
   * first phase. Use `'fail'` where every crash has to be survived.
   * @default 'report'
   */
  unknown?: 'report' | 'fail';

  /**
   * Whether an answer after a crash is as good as one without.
   * @default the same status, media type and JSON structure
   */
  sameAnswer?: (undisturbed: KitAnswer, afterCrash: KitAnswer) => boolean;

  /** Called when a key is through, for checks of your own: one order, one entry in the provider's ledger. */
  afterEach?: (run: CrashSafetyRun) => void | Promise<void>;

  /**
   * How many retries a key may need.
   * @default 10
   */
  retries?: number;
}

/** An answer as the kit's client received it. */
export interface KitAnswer {
  status: number;
  contentType: string | null;
  body: Buffer;
}

/** What became of one key. */
export interface CrashSafetyRun {
  /** Where the process died; undefined for the undisturbed run. */
  crashedAt: string | undefined;
  key: string;
  outcome: 'final' | 'unknown' | 'stuck';
  answer: KitAnswer | undefined;
  /** Requests sent, the one that crashed included. */
  requests: number;
  /** How often each phase was committed. */
  commits: Record<string, number>;
  /** How often each foreign phase was begun, under which effect keys. */
  calls: Record<string, { effectKey: string; count: number }[]>;
  /** Why this run is not crash-safe; empty where it is. */
  problems: string[];
}

export interface CrashSafetyReport {
  runs: CrashSafetyRun[];
  /** The runs as a table, to print. */
  table: string;
}
