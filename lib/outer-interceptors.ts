import { Injectable, type NestInterceptor } from '@nestjs/common';
import { INTERCEPTORS_METADATA } from '@nestjs/common/constants.js';
import { ApplicationConfig, DiscoveryService, MetadataScanner } from '@nestjs/core';
import { IdempotencyInterceptor } from './idempotency.interceptor.js';
import { isCovered } from './policy/idempotent-metadata.js';
import { watchForAnswers } from './response/answered.js';

/** Stateless, because classes keep it in their metadata, in whichever application they are used. */
const watcher: NestInterceptor = {
  intercept(context, next) {
    const watched = context.getType() === 'http' && isCovered(context.getHandler());
    return watched
      ? watchForAnswers(context.switchToHttp().getRequest(), () => next.handle())
      : next.handle();
  },
};

/**
 * Adds an interceptor around those that run before the library's: replays and
 * refusals pass them without a value, and Nest has to be told that this is right.
 * Without such interceptors none is added, because every interceptor costs time.
 */
@Injectable()
export class OuterInterceptors {
  constructor(
    private readonly config: ApplicationConfig,
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
  ) {}

  /** Call it when all global interceptors are known, and before Nest creates the routes. */
  watch(): void {
    const global = this.config.getGlobalInterceptors();
    if (global.length > 0 || this.config.getGlobalRequestInterceptors().length > 0) {
      if (!global.includes(watcher)) global.unshift(watcher);
      return;
    }
    for (const { metatype } of this.discovery.getControllers()) {
      if (typeof metatype === 'function') this.watchController(metatype);
    }
  }

  /** Where nobody says when all of them are known, as in a unit test: the watcher comes before all of them. */
  watchAlways(): void {
    const global = this.config.getGlobalInterceptors();
    if (!global.includes(watcher)) global.unshift(watcher);
  }

  private watchController(controller: Function): void {
    const prototype = controller.prototype as Record<string, object>;
    const handlers = this.scanner
      .getAllMethodNames(prototype)
      .map((name) => prototype[name]!)
      .filter(isCovered);
    if (handlers.length === 0) return;
    if (interceptorsOf(controller).length > 0) return putFirst(controller);
    for (const handler of handlers) {
      if (interceptorsOf(handler).indexOf(IdempotencyInterceptor) > 0) putFirst(handler);
    }
  }
}

function interceptorsOf(target: object): unknown[] {
  return (Reflect.getMetadata(INTERCEPTORS_METADATA, target) ?? []) as unknown[];
}

function putFirst(target: object): void {
  const others = interceptorsOf(target).filter((interceptor) => interceptor !== watcher);
  Reflect.defineMetadata(INTERCEPTORS_METADATA, [watcher, ...others], target);
}
