import {
  Controller,
  Post,
  RequestTimeoutException,
  UseInterceptors,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Idempotent } from 'nestjs-atomic-idempotency';
import { map, raceWith, Subject, take } from 'rxjs';
import { barrier, type Barrier } from '../support/barrier.js';
import { send } from '../support/http.js';
import { keyRow, startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';

const timeIsUp = new Subject<void>();
let timedOut: () => void;

/** What Nest's documentation shows, with a clock that the test turns. */
class TimeOutInterceptor implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler) {
    const timeOut = timeIsUp.pipe(
      take(1),
      map(() => {
        timedOut();
        throw new RequestTimeoutException();
      }),
    );
    return next.handle().pipe(raceWith(timeOut));
  }
}

let gate: Barrier;
let executions = 0;

async function work() {
  executions += 1;
  const execution = executions;
  await gate.pass();
  return { execution };
}

@Controller()
class OrdersController {
  @Post('outside')
  @Idempotent()
  @UseInterceptors(TimeOutInterceptor)
  outside() {
    return work();
  }

  @Post('inside')
  @UseInterceptors(TimeOutInterceptor)
  @Idempotent()
  inside() {
    return work();
  }
}

forEachPlatform('Time-outs', (platform) => {
  let app: IdempotentApp;
  beforeAll(async () => {
    app = await startIdempotentApp(platform, { controllers: [OrdersController], logger: false });
  });
  afterAll(() => app.close());
  beforeEach(() => {
    gate = barrier();
    executions = 0;
  });

  describe('A time-out interceptor', () => {
    it.each(['outside', 'inside'])(
      '(%s) does not let a retry run at the same time as the handler',
      async (path) => {
        const ask = () => send(`${app.url}/${path}`, { key: path });
        const first = ask();
        await gate.arrived();
        const timeOut = new Promise<void>((resolve) => (timedOut = resolve));
        timeIsUp.next();
        await timeOut;

        const retry = await ask();
        expect([retry.status, retry.json().code]).toEqual([409, 'in_progress']);
        expect(executions).toBe(1);

        gate.open();
        expect((await first).status).toBe(408);
        expect(await keyRow(app.database, path)).toMatchObject({ status: 'failed_retryable' });
      },
    );
  });
});
