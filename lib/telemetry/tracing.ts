/** How a span begins. */
export interface SpanStart {
  name: string;
  kind?: 'client' | 'consumer';
  attributes?: Attributes;
  /**
   * The stored `traceparent` of the request that the work is for, where it
   * continues without that request. The span belongs to that trace and links to
   * it.
   */
  origin?: string | null | undefined;
  /** It belongs to no request, not even to the one in whose context it happens to run. */
  detached?: boolean;
  /** When it began, in milliseconds since 1970. @default now */
  startedAt?: number;
}

export type Attributes = Record<string, string | number | boolean | undefined>;

/** A span that has begun. */
export interface OpenSpan {
  /** In W3C's form, to be stored; undefined if the span is not recorded. */
  readonly traceparent: string | undefined;
  /** Runs `work` as a part of the span. */
  run<T>(work: () => T): T;
  set(attributes: Attributes): void;
  /** An earlier request or attempt that this one continues. */
  link(traceparent: string): void;
  /** @param error what went wrong, in a word or a line */
  end(error?: string): void;
}

/** Makes spans; installed by `nestjs-atomic-idempotency/opentelemetry`. */
export interface Tracing {
  start(span: SpanStart): OpenSpan;
  /** The `traceparent` of the running code. */
  current(): string | undefined;
}

let installed: Tracing | undefined;

/** @returns a function that uninstalls it */
export function installTracing(tracing: Tracing): () => void {
  installed = tracing;
  return () => {
    if (installed === tracing) installed = undefined;
  };
}

/** Undefined if no tracing is installed; then nothing is built. */
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

/** Makes a span of work that has ended, for work whose outcome decides whether it gets one. */
export function endedSpan(
  describe: () => SpanStart & { startedAt: number },
  error?: unknown,
): void {
  startSpan(describe)?.end(error === undefined ? undefined : errorType(error));
}

/** The name alone: a message may contain users' data. */
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
