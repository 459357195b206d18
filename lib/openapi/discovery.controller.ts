import { createHash } from 'node:crypto';
import { Controller, Get, Inject, Req, Res, VERSION_NEUTRAL } from '@nestjs/common';
import { HttpPlatformHost } from '../response/http-platform-host.js';
import { Discovery, DISCOVERY_PATH } from './discovery.js';
import { SWAGGER } from './swagger-metadata.js';

/** An hour: it changes with a deployment at most, and a client that has it may keep it for a while. */
const CACHE_CONTROL = 'public, max-age=3600';

/**
 * `GET /.well-known/idempotency`. It is sent directly, so that no interceptor
 * wraps it: clients depend on its shape.
 */
@Controller({ path: DISCOVERY_PATH, version: VERSION_NEUTRAL })
export class IdempotencyDiscoveryController {
  constructor(
    @Inject(Discovery) private readonly discovery: Discovery,
    @Inject(HttpPlatformHost) private readonly http: HttpPlatformHost,
  ) {}

  @Get()
  discover(
    @Req() request: { headers: { 'if-none-match'?: string } },
    @Res() response: unknown,
  ): void {
    const body = Buffer.from(JSON.stringify(this.discovery.describe()));
    const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
    const headers = { etag, 'cache-control': CACHE_CONTROL };
    const known = (request.headers['if-none-match'] ?? '').split(',').map((each) => each.trim());
    const isKnown = known.some((each) => each === '*' || each.replace(/^W\//, '') === etag);
    this.http.platform.send(
      response,
      isKnown
        ? { status: 304, headers, body: Buffer.alloc(0) }
        : {
            status: 200,
            headers: { ...headers, 'content-type': 'application/json; charset=utf-8' },
            body,
          },
    );
  }
}

// It describes the API from outside, as the document itself does.
Reflect.defineMetadata(SWAGGER.excludeController, [true], IdempotencyDiscoveryController);
