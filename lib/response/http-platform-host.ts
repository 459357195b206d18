import { Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { HttpPlatform } from './http-platform.js';
import { createHttpPlatform } from './platforms.js';

/**
 * The platform of the running application. Created late, because Nest sets the
 * HTTP adapter after the providers; a worker process has none.
 */
@Injectable()
export class HttpPlatformHost {
  private made: HttpPlatform | undefined;

  constructor(private readonly host: HttpAdapterHost) {}

  /** Call it before the server listens: Fastify accepts no hooks after that. */
  install(): void {
    if (this.host.httpAdapter) this.made ??= createHttpPlatform(this.host.httpAdapter);
  }

  get platform(): HttpPlatform {
    this.install();
    return this.made!;
  }
}
