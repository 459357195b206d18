/**
 * What a replay costs that looks at the key alone: an interceptor that keeps answers in
 * memory for ever, with what no replay of the library can do without. It sends the bytes
 * by itself, so that they are those of the first answer, marks them as a replay, and lets
 * Nest send nothing. Each request enters an AsyncLocalStorage, because a handler may have
 * phases, and requests of one turn are answered together. It compares no request, has no
 * scope, and passes no hook of a compression. On Fastify only.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe } from 'node:diagnostics_channel';
import {
  Body,
  Controller,
  Module,
  Post,
  UseInterceptors,
  type CallHandler,
  type ExecutionContext,
} from '@nestjs/common';
import { of, tap, type Observable } from 'rxjs';
import { endOfTurn } from '#lib/request/end-of-turn.js';
import { accept, type Payment } from './payment.js';
import { serve } from './serve.js';

interface Keyed {
  headers: { 'idempotency-key': string };
}

interface Reply {
  header(name: string, value: string): Reply;
  status(status: number): Reply;
  send(payload?: unknown): Reply;
}

const requests = new AsyncLocalStorage<object>();
subscribe('http.server.request.start', () => requests.enterWith({}));

function ignored(this: Reply): Reply {
  return this;
}

class Remember {
  private readonly answers = new Map<string, Buffer>();

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const http = context.switchToHttp();
    const key = http.getRequest<Keyed>().headers['idempotency-key'];
    await endOfTurn();
    const answer = this.answers.get(key);
    if (!answer) return next.handle().pipe(tap((given) => this.keep(key, given)));
    const reply = http.getResponse<Reply>();
    const { send } = reply;
    reply.send = ignored;
    reply.status(201).header('idempotent-replayed', 'true');
    send.call(reply.header('content-type', 'application/json; charset=utf-8'), answer);
    return of(undefined);
  }

  private keep(key: string, given: unknown): void {
    this.answers.set(key, Buffer.from(JSON.stringify(given)));
  }
}

@Controller()
class PaymentsController {
  @Post('payments')
  @UseInterceptors(Remember)
  create(@Body() payment: Payment) {
    return accept(payment);
  }
}

@Module({ controllers: [PaymentsController] })
class AppModule {}

await serve(AppModule);
