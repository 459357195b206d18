/** What a trace is told of a piece of work. */
export interface SpanStart {
  name: string;
  kind?: 'client' | 'consumer';
  attributes?: Attributes;
  /**
   * The request that the work is for, where it goes on without that request: the
   * `traceparent` that was stored. The span belongs to that trace and links to it.
   */
  origin?: string | null | undefined;
  /** It belongs to no request: not even to the one that happens to surround it. */
  detached?: boolean;
  /** When it began, in milliseconds since 1970. @default now */
  startedAt?: number;
}

export type Attributes = Record<string, string | number | boolean | undefined>;

/** A piece of work that is under way. */
export interface OpenSpan {
  /** In W3C's form, to be stored; undefined where nothing of it will be kept. */
  readonly traceparent: string | undefined;
  /** Whatever `work` goes on to do is part of it. */
  run<T>(work: () => T): T;
  set(attributes: Attributes): void;
  /** An earlier request or attempt that this one goes on from. */
  link(traceparent: string): void;
  /** @param error what went wrong, in a word or a line */
  end(error?: string): void;
}

/** What makes spans: installed by `nestjs-atomic-idempotency/opentelemetry`. */
export interface Tracing {
  start(span: SpanStart): OpenSpan;
  /** The `traceparent` of the running code. */
  current(): string | undefined;
}

let installed: Tracing | undefined;

/** @returns what takes it back */
export function installTracing(tracing: Tracing): () => void {
  installed = tracing;
  return () => {
    if (installed === tracing) installed = undefined;
  };
}

/** Undefined while nobody traces; then nothing is built. */
export function startSpan(describe: () => SpanStart): OpenSpan | undefined {
  return installed?.start(describe());
}

export function currentTraceparent(): string | undefined {
  return installed?.current();
}

/** Runs `work` in a span of its own, which ends with it. */
export function inSpan<T>(
  describe: () => SpanStart,
  work: (span?: OpenSpan) => Promise<T>,
): Promise<T> {
  const span = startSpan(describe);
  return span ? spanned(span, work) : work();
}

/** Makes a span of work that has ended, where only its end tells whether it is worth one. */
export function endedSpan(
  describe: () => SpanStart & { startedAt: number },
  error?: unknown,
): void {
  startSpan(describe)?.end(error === undefined ? undefined : errorType(error));
}

/** Its name alone: a message may have the data of the application's users in it. */
function errorType(error: unknown): string {
  return error instanceof Error ? error.name : 'Error';
}

async function spanned<T>(span: OpenSpan, work: (span: OpenSpan) => Promise<T>): Promise<T> {
  try {
    const result = await span.run(() => work(span));
    span.end();
    return result;
  } catch (error) {
    span.end(errorType(error));
    throw error;
  }
}
