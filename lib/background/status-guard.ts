import {
  Inject,
  Injectable,
  type CanActivate,
  type ExecutionContext,
  type OnModuleInit,
  type Type,
} from '@nestjs/common';
import { ContextIdFactory, ModuleRef } from '@nestjs/core';
import { isObservable, lastValueFrom } from 'rxjs';
import { IdempotencyConfigurationError } from '../policy/configuration-error.js';

type Guard = CanActivate | Type<CanActivate>;
type GuardOf = (context: ExecutionContext) => CanActivate | Promise<CanActivate>;

/**
 * One guard that calls all guards of an option. With `@UseGuards()` alone, Nest
 * would create new instances in this module, which lacks the services that they
 * depend on; this guard uses the application's own instances.
 */
export function statusGuard(guards: readonly Guard[], option = 'statusGuards'): Type<CanActivate> {
  @Injectable()
  class IdempotencyStatusGuard implements CanActivate, OnModuleInit {
    private found: GuardOf[] = [];

    constructor(@Inject(ModuleRef) private readonly modules: ModuleRef) {}

    async onModuleInit(): Promise<void> {
      this.found = await Promise.all(guards.map((guard) => this.find(guard)));
    }

    async canActivate(context: ExecutionContext): Promise<boolean> {
      for (const guardOf of this.found) {
        const guard = await guardOf(context);
        const answer = guard.canActivate(context);
        if (!(await (isObservable(answer) ? lastValueFrom(answer) : answer))) return false;
      }
      return true;
    }

    private async find(guard: Guard): Promise<GuardOf> {
      if (typeof guard !== 'function') return () => guard;
      if (this.isKnown(guard)) {
        return (context) => {
          const request: object = context.switchToHttp().getRequest();
          const contextId = ContextIdFactory.getByRequest(request as Record<string, unknown>);
          return this.modules.resolve(guard, contextId, { strict: false });
        };
      }
      try {
        const made = await this.modules.create(guard);
        return () => made;
      } catch (error) {
        throw new IdempotencyConfigurationError(
          `${option}: ${guard.name} is used nowhere else and could not be made here: ${String(error)} ` +
            'Add it to the providers of one of your modules, or give an instance of it.',
        );
      }
    }

    /** The instance of some module: a provider, or a guard of one of its controllers. */
    private isKnown(guard: Type<CanActivate>): boolean {
      try {
        this.modules.introspect(guard);
        return true;
      } catch {
        return false;
      }
    }
  }
  return IdempotencyStatusGuard;
}
