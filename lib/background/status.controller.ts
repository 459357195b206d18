import {
  Controller,
  createParamDecorator,
  Get,
  Inject,
  NotFoundException,
  Param,
  Req,
  type ExecutionContext,
  type Type,
} from '@nestjs/common';
import { IdempotencySettings } from '../idempotency.settings.js';
import { MaintenanceStore, type KeyProgress } from '../keys/maintenance-store.js';

const CurrentContext = createParamDecorator((_: unknown, context: ExecutionContext) => context);

/**
 * `GET <path>/:id`: how far a key has come, for the caller whose key it is. It
 * shows no answer: the client gets that by retrying its request.
 */
export function statusController(path: string): Type {
  @Controller(path)
  class IdempotencyStatusController {
    constructor(
      @Inject(IdempotencySettings) private readonly settings: IdempotencySettings,
      @Inject(MaintenanceStore) private readonly store: MaintenanceStore,
    ) {}

    @Get(':id')
    async status(
      @Param('id') id: string,
      @Req() request: unknown,
      @CurrentContext() context: ExecutionContext,
    ): Promise<KeyProgress> {
      const { scope } = this.settings;
      const caller = scope === 'global' ? '' : await scope(request, context);
      // Another scope's key and no key at all look the same.
      const progress =
        /^\d{1,18}$/.test(id) && caller !== undefined
          ? await this.store.progress(id, caller)
          : undefined;
      if (!progress) throw new NotFoundException(`There is no operation ${id}.`);
      return progress;
    }
  }
  return IdempotencyStatusController;
}
