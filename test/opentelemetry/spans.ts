import { context } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
} from '@opentelemetry/sdk-trace-base';

/** OpenTelemetry's SDK for traces, which a test asks for the spans that have ended. */
export class CollectedSpans {
  private readonly exporter = new InMemorySpanExporter();
  readonly provider = new BasicTracerProvider({
    spanProcessors: [new SimpleSpanProcessor(this.exporter)],
  });
  private readonly contexts = new AsyncLocalStorageContextManager().enable();

  constructor() {
    context.setGlobalContextManager(this.contexts);
  }

  get all(): ReadableSpan[] {
    return this.exporter.getFinishedSpans();
  }

  named(name: string): ReadableSpan[] {
    return this.all.filter((span) => span.name === name);
  }

  /** The only one of that name. */
  one(name: string): ReadableSpan {
    const [span, ...others] = this.named(name);
    if (!span || others.length > 0) {
      throw new Error(`${1 + others.length} span(s) "${name}" among ${this.names.join()}`);
    }
    return span;
  }

  get names(): string[] {
    return this.all.map(({ name }) => name);
  }

  clear(): void {
    this.exporter.reset();
  }

  end(): void {
    context.disable();
  }
}

export function traceparentOf(span: ReadableSpan): string {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return `00-${traceId}-${spanId}-0${traceFlags}`;
}

export function parentOf(span: ReadableSpan): string | undefined {
  return span.parentSpanContext?.spanId;
}

export function linksOf(span: ReadableSpan): string[] {
  return span.links.map((link) => link.context.spanId);
}
