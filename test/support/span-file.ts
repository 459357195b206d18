// OpenTelemetry's SDK in a child process, whose spans outlive it: one line of a file each.
import { appendFileSync } from 'node:fs';
import { context, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  BasicTracerProvider,
  SimpleSpanProcessor,
  type ReadableSpan,
  type SpanExporter,
} from '@opentelemetry/sdk-trace-base';

export interface WrittenSpan {
  process: number;
  name: string;
  traceId: string;
  spanId: string;
  parentId: string | undefined;
  links: string[];
}

/** From here on each span that ends is written at once, so that a killed process has written it. */
export function writeSpansTo(file: string): void {
  const exporter: SpanExporter = {
    export(spans, done) {
      for (const span of spans) appendFileSync(file, `${JSON.stringify(written(span))}\n`);
      done({ code: 0 });
    },
    shutdown: async () => undefined,
  };
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  trace.setGlobalTracerProvider(
    new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }),
  );
}

function written(span: ReadableSpan): WrittenSpan {
  const { traceId, spanId } = span.spanContext();
  return {
    process: process.pid,
    name: span.name,
    traceId,
    spanId,
    parentId: span.parentSpanContext?.spanId,
    links: span.links.map((link) => link.context.spanId),
  };
}
