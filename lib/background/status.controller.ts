import {
  Controller,
  createParamDecorator,
  ForbiddenException,
  Get,
  Inject,
  NotFoundException,
  Param,
  Req,
  Res,
  ServiceUnavailableException,
  UseGuards,
  VERSION_NEUTRAL,
  type CanActivate,
  type ExecutionContext,
  type Type,
} from '@nestjs/common';
import { HttpPlatformHost } from '../response/http-platform-host.js';
import {
  askAgainAfter,
  isSettled,
  tagOf,
  wantsEvents,
  type KeyProgress,
} from './status-progress.js';
import { StatusStore } from './status-store.js';
import { StatusStreams } from './status-streams.js';
import { ScopeReader } from '../request/scope.js';
import { IdempotencyProblem } from '../answers/problems.js';
import { describeStatusRoute } from './status-description.js';
import { statusGuard } from './status-guard.js';

const CurrentContext = createParamDecorator((_: unknown, context: ExecutionContext) => context);

const NAME_THE_GUARDS =
  'Guards that stand on your own controllers do not run for the status route: name them in the option ' +
  'statusGuards: [AuthGuard], beside statusPath, or make them global (APP_GUARD).';

/** When a client should try again if there were too many streams, in seconds. */
const RETRY_AFTER = '5';

interface StatusRequest {
  method: string;
  headers: { accept?: string; 'if-none-match'?: string; 'last-event-id'?: string };
}

/**
 * `GET <path>/:id`: the progress of a key, for the client whose key it is; as
 * JSON, or as Server-Sent Events for a client that asks for them. It does not
 * show the answer: the client gets that by retrying its request. The route is
 * version-neutral, so that one address serves all versions.
 */
export function statusController(
  path: string,
  guards: readonly (CanActivate | Type<CanActivate>)[] = [],
): Type {
  @Controller({ path, version: VERSION_NEUTRAL })
  @UseGuards(statusGuard(guards))
  class IdempotencyStatusController {
    constructor(
      @Inject(ScopeReader) private readonly scopes: ScopeReader,
      @Inject(StatusStore) private readonly store: StatusStore,
      @Inject(StatusStreams) private readonly streams: StatusStreams,
      @Inject(HttpPlatformHost) private readonly http: HttpPlatformHost,
    ) {}

    @Get(':id')
    async status(
      @Param('id') id: string,
      @Req() request: StatusRequest,
      // Nest sends the returned value, unless the response has been sent.
      @Res({ passthrough: true }) response: unknown,
      @CurrentContext() context: ExecutionContext,
    ): Promise<KeyProgress> {
      const caller = await this.callerOf(request, context);
      // A key of another scope looks as if it did not exist.
      const progress = /^\d{1,18}$/.test(id) ? await this.store.progress(id, caller) : undefined;
      if (!progress) throw new NotFoundException(`There is no operation ${id}.`);
      if (request.method === 'GET' && wantsEvents(request.headers.accept)) {
        this.stream({ id, scope: caller }, progress, request, response);
      } else {
        this.describe(progress, request, response);
      }
      // For outer interceptors, which expect a value. If the response has been sent, it is ignored.
      return progress;
    }

    /** The headers for a client that polls; 304 if nothing has changed. */
    private describe(progress: KeyProgress, request: StatusRequest, response: unknown): void {
      // Weak: interceptors may render the same progress in another way.
      const etag = `W/"${tagOf(progress)}"`;
      const seconds = askAgainAfter(progress);
      const headers = {
        etag,
        'cache-control': 'private, no-cache',
        ...(seconds !== undefined && { 'retry-after': String(seconds) }),
      };
      const { platform } = this.http;
      if (isAmong(etag, request.headers['if-none-match'])) {
        return platform.send(response, { status: 304, headers, body: Buffer.alloc(0) });
      }
      for (const [name, value] of Object.entries(headers)) {
        platform.setHeader(response, name, value);
      }
    }

    private stream(
      key: { id: string; scope: string },
      progress: KeyProgress,
      { headers }: StatusRequest,
      response: unknown,
    ): void {
      const { platform } = this.http;
      const known = headers['last-event-id'];
      if (isSettled(progress) && known === tagOf(progress)) {
        // The client has seen the end: 204 stops an EventSource from reconnecting.
        return platform.send(response, { status: 204, headers: {}, body: Buffer.alloc(0) });
      }
      if (!this.streams.hasRoom) {
        platform.setHeader(response, 'retry-after', RETRY_AFTER);
        throw new ServiceUnavailableException(
          'There is no room for another stream here. Ask without it, or try again.',
        );
      }
      this.streams.open(key, progress, platform.streamEvents(response), known);
    }

    private async callerOf(request: unknown, context: ExecutionContext): Promise<string> {
      try {
        return await this.scopes.read(request, context, undefined, NAME_THE_GUARDS);
      } catch (error) {
        if (!(error instanceof IdempotencyProblem)) throw error;
        throw new ForbiddenException('The server could not tell who asks for this operation.');
      }
    }
  }
  describeStatusRoute(
    Object.getOwnPropertyDescriptor(IdempotencyStatusController.prototype, 'status')!
      .value as object,
  );
  return IdempotencyStatusController;
}

function isAmong(etag: string, given: string | undefined): boolean {
  return (given ?? '').split(',').some((each) => each.trim() === etag);
}
