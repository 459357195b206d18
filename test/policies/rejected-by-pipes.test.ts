import {
  applyDecorators,
  BadRequestException,
  Body,
  Controller,
  createParamDecorator,
  Param,
  ParseIntPipe,
  Post,
  UnauthorizedException,
  UseInterceptors,
  ValidationPipe,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
  type PipeTransform,
} from '@nestjs/common';
import { APP_PIPE } from '@nestjs/core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { IsInt, IsPositive } from 'class-validator';
import { Idempotent } from 'nestjs-atomic-idempotency';
import { catchError, throwError } from 'rxjs';
import { send } from '../support/http.js';
import { keyRow, startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { writtenRow } from '../support/written-row.js';

class TipDto {
  @IsInt()
  @IsPositive()
  amount!: number;
}

const Account = createParamDecorator((_: unknown, context: ExecutionContext): string => {
  const { headers } = context.switchToHttp().getRequest<{ headers: Record<string, string> }>();
  if (!headers['x-account']) throw new UnauthorizedException('No account');
  return headers['x-account'];
});

/** Rejects whatever is in here. */
const unwelcome = new Set<string>();
class MoodyPipe implements PipeTransform {
  transform(value: string): string {
    if (unwelcome.has(value)) throw new BadRequestException(`${value} is unwelcome`);
    return value;
  }
}

/** Newer versions of Nest mark such a request, older ones leave no trace on it. */
let nestMarks = true;
class OlderNestInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler) {
    return next.handle().pipe(
      catchError((error: Error) => {
        const mark = Symbol.for('nestjs:rejected-by-pipes');
        if (!nestMarks) Reflect.deleteProperty(context.switchToHttp().getRequest(), mark);
        return throwError(() => error);
      }),
    );
  }
}

/** With the other interceptor inside, which is the first to see what pipes throw. */
const IdempotentOnOlderNest = () =>
  applyDecorators(Idempotent(), UseInterceptors(OlderNestInterceptor));

let executions = 0;

@Controller()
class TipsController {
  @Post('tips')
  @IdempotentOnOlderNest()
  validated(@Body() tip: TipDto) {
    executions += 1;
    return { amount: tip.amount };
  }

  @Post('rides/:id/tips')
  @IdempotentOnOlderNest()
  parsed(@Param('id', ParseIntPipe) id: number) {
    executions += 1;
    return { id };
  }

  @Post('accounts')
  @IdempotentOnOlderNest()
  decorated(@Account() account: string) {
    executions += 1;
    return { account };
  }

  @Post('own-exception')
  @IdempotentOnOlderNest()
  own(@Body() tip: TipDto) {
    executions += 1;
    if (tip.amount > 100) throw new BadRequestException('Too generous');
    return {};
  }

  @Post('moody/:name')
  @IdempotentOnOlderNest()
  moody(@Param('name', MoodyPipe) name: string) {
    executions += 1;
    if (executions === 1) throw new Error('a bug');
    return { name };
  }
}

forEachPlatform('Requests that a pipe rejects', (platform) => {
  describe.each([{ marks: true }, { marks: false }])(
    'where Nest marks rejections: $marks',
    ({ marks }) => {
      let app: IdempotentApp;
      beforeAll(async () => {
        app = await startIdempotentApp(platform, {
          controllers: [TipsController],
          providers: [{ provide: APP_PIPE, useValue: new ValidationPipe({ transform: true }) }],
          logger: false,
        });
      });
      afterAll(() => app.close());
      beforeEach(() => {
        executions = 0;
        nestMarks = marks;
        unwelcome.clear();
      });

      it.each([
        [
          'a ValidationPipe',
          'tips',
          { body: { amount: -1 } },
          400,
          'tips',
          { body: { amount: 1 } },
        ],
        ['a ParseIntPipe', 'rides/x/tips', {}, 400, 'rides/7/tips', {}],
        [
          'a parameter decorator',
          'accounts',
          {},
          401,
          'accounts',
          { headers: { 'x-account': 'a' } },
        ],
      ])('give the key back: %s', async (name, path, request, status, corrected, again) => {
        const key = name.replaceAll(' ', '-');
        for (let time = 1; time <= 2; time++) {
          const rejected = await send(`${app.url}/${path}`, { key, ...request });
          expect(rejected.status).toBe(status);
          expect(rejected.headers.get('idempotent-replayed')).toBeNull();
          expect(rejected.headers.get('idempotency-key-expires')).toBeNull();
          expect(await writtenRow(app.database, key)).toBeUndefined();
        }
        expect(executions).toBe(0);

        for (const replayed of [null, 'true']) {
          const accepted = await send(`${app.url}/${corrected}`, { key, ...again });
          expect(accepted.status).toBe(201);
          expect(accepted.headers.get('idempotent-replayed')).toBe(replayed);
        }
        expect(executions).toBe(1);
      });

      it("differ from the handler's own BadRequestException, which is stored", async () => {
        const ask = (amount: number) =>
          send(`${app.url}/own-exception`, { key: 'own', body: { amount } });
        const first = await ask(101);
        const retry = await ask(101);
        expect([first.status, retry.status]).toEqual([400, 400]);
        expect(retry.body).toEqual(first.body);
        expect(retry.headers.get('idempotent-replayed')).toBe('true');
        expect((await ask(1)).status).toBe(422);
        expect(executions).toBe(1);
      });

      it('leave a key open whose earlier attempt did start', async () => {
        const ask = (name: string) => send(`${app.url}/moody/${name}`, { key: 'resumed' });
        expect((await ask('ann')).status).toBe(500);

        unwelcome.add('ann');
        expect((await ask('ann')).status).toBe(400);
        expect(await keyRow(app.database, 'resumed')).toMatchObject({
          status: 'failed_retryable',
          last_error_code: 'handler_not_begun',
          attempt: 2,
        });
        unwelcome.delete('ann');

        // It is still this request's key.
        expect((await ask('bob')).status).toBe(422);
        const third = await ask('ann');
        expect([third.status, third.json()]).toEqual([201, { name: 'ann' }]);
        expect((await keyRow(app.database, 'resumed')).attempt).toBe(3);
      });
    },
  );
});
