import {
  Controller,
  createParamDecorator,
  ForbiddenException,
  Get,
  Inject,
  NotFoundException,
  Param,
  Req,
  UseGuards,
  VERSION_NEUTRAL,
  type CanActivate,
  type ExecutionContext,
  type Type,
} from '@nestjs/common';
import { StatusStore, type KeyProgress } from './status-store.js';
import { ScopeReader } from '../request/scope.js';
import { IdempotencyProblem } from '../answers/problems.js';
import { statusGuard } from './status-guard.js';

const CurrentContext = createParamDecorator((_: unknown, context: ExecutionContext) => context);

const NAME_THE_GUARDS =
  'Guards that stand on your own controllers do not run for the status route: name them in the option ' +
  'statusGuards: [AuthGuard], beside statusPath, or make them global (APP_GUARD).';

/**
 * `GET <path>/:id`: how far a key has come, for the caller whose key it is. It
 * shows no answer: the client gets that by retrying its request. The route has
 * no version, so that one address is right for all of them.
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
    ) {}

    @Get(':id')
    async status(
      @Param('id') id: string,
      @Req() request: unknown,
      @CurrentContext() context: ExecutionContext,
    ): Promise<KeyProgress> {
      const caller = await this.callerOf(request, context);
      // Another scope's key and no key at all look the same.
      const progress = /^\d{1,18}$/.test(id) ? await this.store.progress(id, caller) : undefined;
      if (!progress) throw new NotFoundException(`There is no operation ${id}.`);
      return progress;
    }

    private async callerOf(request: unknown, context: ExecutionContext): Promise<string> {
      try {
        return await this.scopes.read(request, context, NAME_THE_GUARDS);
      } catch (error) {
        if (!(error instanceof IdempotencyProblem)) throw error;
        throw new ForbiddenException('The server could not tell who asks for this operation.');
      }
    }
  }
  return IdempotencyStatusController;
}
