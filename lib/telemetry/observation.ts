import type { RequestOutcome } from './events.js';
import { ofKey } from './key-labels.js';
import { isObserved, publish } from './publish.js';
import { startSpan, type OpenSpan } from './tracing.js';

type KeyName = Record<'scope' | 'endpoint' | 'key', string>;

/** What is observed of one request, or of one attempt of a worker: its route, its time and its span. */
export class Observation {
  private readonly startedAt = isObserved('answered') ? performance.now() : undefined;
  private code: string | undefined;
  /** Known once the request is identified. */
  name: KeyName | undefined;

  constructor(
    /** Controller and method, or the operation's name where a worker runs it. */
    readonly route: string,
    public span?: OpenSpan,
  ) {}

  /** The request has a key; from here on it is part of a trace. */
  begin(): void {
    const { route } = this;
    this.span = startSpan(() => ({
      name: `idempotent ${route}`,
      attributes: { 'idempotency.route': route },
    }));
  }

  /** Runs `work` as a part of the span, if there is one. */
  run<T>(work: () => T): T {
    return this.span ? this.span.run(work) : work();
  }

  refused(code: string): void {
    this.code = code;
    const { route, name } = this;
    publish('refused', () => ({ ...(name && ofKey(name)), route, code }));
  }

  answered(outcome: RequestOutcome): void {
    const { route, code, startedAt, span } = this;
    if (startedAt !== undefined) {
      publish('answered', () => ({
        route,
        outcome,
        code,
        duration: performance.now() - startedAt,
      }));
    }
    if (!span) return;
    span.set({ 'idempotency.outcome': outcome, 'error.type': code });
    // A refusal is a normal answer of the protocol; only a failure of the library is an error.
    span.end(code === 'store_unavailable' || outcome === 'failed' ? (code ?? 'Error') : undefined);
  }
}
