import {
  context,
  isSpanContextValid,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Context,
  type Span,
  type SpanContext,
  type Tracer,
} from '@opentelemetry/api';
import type { Attributes, OpenSpan, SpanStart, Tracing } from '../telemetry/tracing.js';

/** Version, trace, span and flags, in W3C's form. */
const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** Makes spans of what the library does. */
export class OpenTelemetryTracing implements Tracing {
  constructor(private readonly tracer: Tracer) {}

  start({ name, kind, attributes = {}, origin, detached, startedAt }: SpanStart): OpenSpan {
    const from = origin ? spanContextOf(origin) : undefined;
    const around = detached ? ROOT_CONTEXT : context.active();
    // Work that continues without its request has no other parent: it belongs to that trace.
    const parent = from && detached ? trace.setSpanContext(around, from) : around;
    const span = this.tracer.startSpan(
      name,
      {
        kind: kind === undefined ? SpanKind.INTERNAL : KINDS[kind],
        attributes: given(attributes),
        links: from ? [{ context: from }] : [],
        ...(startedAt !== undefined && { startTime: startedAt }),
      },
      parent,
    );
    return new OpenTelemetrySpan(span, trace.setSpan(parent, span));
  }

  current(): string | undefined {
    return traceparentOf(trace.getSpan(context.active())?.spanContext());
  }
}

const KINDS = { client: SpanKind.CLIENT, consumer: SpanKind.CONSUMER };

class OpenTelemetrySpan implements OpenSpan {
  readonly traceparent: string | undefined;

  constructor(
    private readonly span: Span,
    private readonly inside: Context,
  ) {
    this.traceparent = traceparentOf(span.spanContext());
  }

  run<T>(work: () => T): T {
    return context.with(this.inside, work);
  }

  set(attributes: Attributes): void {
    this.span.setAttributes(given(attributes));
  }

  link(traceparent: string): void {
    const from = spanContextOf(traceparent);
    if (from) this.span.addLink({ context: from });
  }

  end(error?: string): void {
    if (error !== undefined) {
      this.span.setAttribute('error.type', error);
      this.span.setStatus({ code: SpanStatusCode.ERROR });
    }
    this.span.end();
  }
}

/** Undefined if no SDK is installed: then there is nothing to store. */
function traceparentOf(span: SpanContext | undefined): string | undefined {
  if (!span || !isSpanContextValid(span)) return undefined;
  const flags = span.traceFlags.toString(16).padStart(2, '0');
  return `00-${span.traceId}-${span.spanId}-${flags}`;
}

/** Undefined if it cannot be parsed: a trace is only for people, and nothing depends on it. */
function spanContextOf(traceparent: string): SpanContext | undefined {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(traceparent) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  const span = { traceId, spanId, traceFlags: parseInt(flags, 16), isRemote: true };
  return isSpanContextValid(span) ? span : undefined;
}

function given(attributes: Attributes): Record<string, string | number | boolean> {
  const entries = Object.entries(attributes).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Record<string, string | number | boolean>;
}
