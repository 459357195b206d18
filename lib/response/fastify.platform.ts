import type { Answer } from './answer.js';
import { FastifyHold } from './fastify-hold.js';
import { FastifyReplay } from './fastify-replay.js';
import type { FastifyInstance, FastifyReply, FastifyRequest } from './fastify-shapes.js';
import { BROKEN_OFF_AFTER_MS } from './held-response.js';
import type { HoldOptions, HttpPlatform } from './http-platform.js';

/**
 * Fastify sends through hooks. Ours find the request they are for in a map and
 * not in an AsyncLocalStorage, which is gone by the time they run. They must be
 * added before the instance is ready, so the platform is made at module init.
 */
export class FastifyPlatform implements HttpPlatform {
  private readonly holds = new WeakMap<FastifyRequest, FastifyHold>();
  private readonly replays = new WeakMap<FastifyRequest, FastifyReplay>();

  constructor(
    instance: FastifyInstance,
    private readonly brokenOffAfterMs = BROKEN_OFF_AFTER_MS,
  ) {
    instance.addHook('onSend', (request, _reply, payload, next) => {
      const hold = this.holds.get(request);
      if (hold) return hold.onSend(payload, next);
      const replay = this.replays.get(request);
      if (replay) replay.onSend(next);
      else next();
      return undefined;
    });
    instance.addHook('onError', (request, _reply, _error, next) => {
      this.holds.get(request)?.onError();
      this.replays.get(request)?.onError();
      next();
    });
  }

  routePattern(request: unknown): string {
    return (request as FastifyRequest).routeOptions.url ?? '';
  }

  send(response: unknown, answer: Answer): void {
    const reply = response as FastifyReply;
    const replay = new FastifyReplay(reply, answer);
    this.replays.set(reply.request, replay);
    replay.send();
  }

  hold(request: unknown, response: unknown, options: HoldOptions): void {
    const hold = new FastifyHold(response as FastifyReply, options, this.brokenOffAfterMs);
    this.holds.set(request as FastifyRequest, hold);
  }
}
