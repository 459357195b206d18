import {
  Injectable,
  type CallHandler,
  type ExecutionContext,
  type ModuleMetadata,
  type NestInterceptor,
  type OnModuleInit,
} from '@nestjs/common';
import { APP_INTERCEPTOR, HttpAdapterHost } from '@nestjs/core';
import { finalize, of, tap, type Observable } from 'rxjs';
import type { Answer, ObservedAnswer, AnswerToSend } from '../../lib/answers/answer.js';
import { HandlerEnd } from '../../lib/response/handler-end.js';
import type { HttpPlatform } from '../../lib/response/http-platform.js';
import { createHttpPlatform } from '../../lib/response/platforms.js';
import { pickReplayHeaders, replayHeaderNames } from '../../lib/answers/replay-headers.js';

export interface RecorderOptions {
  maxBytes?: number;
  brokenOffAfterMs?: number;
  /** What to do with an answer that was observed. @default record and release it */
  decide?: (observed: ObservedAnswer) => AnswerToSend | Promise<AnswerToSend>;
}

/**
 * The smallest interceptor that records and replays by key, in memory: these
 * tests are about answers, not about keys. Requests without a key pass untouched,
 * which shows what an answer looks like without us.
 */
export class Recorder {
  /** Answers by key, as they would be stored. */
  readonly answers = new Map<string, Answer>();
  /** Everything that was observed by key, in order. */
  readonly observed = new Map<string, ObservedAnswer[]>();
  /** How often a handler ran, by key. */
  readonly executions = new Map<string, number>();
  readonly headerNames = replayHeaderNames(['x-total']);
  platform!: HttpPlatform;
  private readonly waiting = new Map<string, () => void>();

  constructor(readonly options: RecorderOptions = {}) {}

  /** To be put before or after other interceptors: the first one is the outermost. */
  interceptor(): NonNullable<ModuleMetadata['providers']>[number] {
    const recorder = this;

    @Injectable()
    class RecordingInterceptor implements NestInterceptor, OnModuleInit {
      constructor(private readonly host: HttpAdapterHost) {}

      onModuleInit(): void {
        const { brokenOffAfterMs } = recorder.options;
        recorder.platform = createHttpPlatform(this.host.httpAdapter, { brokenOffAfterMs });
      }

      intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
        return recorder.intercept(context, next);
      }
    }
    return { provide: APP_INTERCEPTOR, useClass: RecordingInterceptor };
  }

  /** Resolves once an answer was observed under this key. */
  async recorded(key: string): Promise<ObservedAnswer> {
    if (!this.observed.has(key)) {
      await new Promise<void>((resolve) => this.waiting.set(key, resolve));
    }
    return this.observed.get(key)![0]!;
  }

  private intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const request = context.switchToHttp().getRequest<{ headers: Record<string, string> }>();
    const response = context.switchToHttp().getResponse<unknown>();
    const key = request.headers['idempotency-key'];
    if (key === undefined) return next.handle();

    const recorded = this.answers.get(key);
    if (recorded) {
      const headers = { ...recorded.headers, 'idempotent-replayed': 'true' };
      this.platform.send(response, { ...recorded, headers });
      return of(undefined);
    }

    this.executions.set(key, (this.executions.get(key) ?? 0) + 1);
    const handlerEnd = new HandlerEnd();
    this.platform.hold(request, response, {
      maxBytes: this.options.maxBytes ?? 1_000_000,
      handlerEnd,
      record: (observed) => this.record(key, observed),
    });
    const noteValue = (value: unknown) => {
      handlerEnd.hasValue = value !== undefined;
    };
    return next.handle().pipe(tap(noteValue), finalize(handlerEnd.tell));
  }

  private async record(key: string, observed: ObservedAnswer): Promise<AnswerToSend> {
    this.observed.set(key, [...(this.observed.get(key) ?? []), observed]);
    this.waiting.get(key)?.();
    if (this.options.decide) return this.options.decide(observed);
    if (observed.body) {
      const headers = pickReplayHeaders(observed.headers, this.headerNames);
      this.answers.set(key, { status: observed.status, headers, body: observed.body });
    }
    return { kind: 'release', headers: { 'X-Recorded': 'yes' } };
  }
}
