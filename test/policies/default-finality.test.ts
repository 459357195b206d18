import { Body, Controller, HttpException, Post, Res } from '@nestjs/common';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { Idempotent } from 'nestjs-atomic-idempotency';
import { send } from '../support/http.js';
import { keyRow, startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';

let executions = 0;

@Controller()
class StatusController {
  @Post('answers')
  @Idempotent()
  answer(
    @Body() { status }: { status: number },
    @Res({ passthrough: true }) response: { status(code: number): void },
  ) {
    executions += 1;
    response.status(status);
    return { executions };
  }

  @Post('throws')
  @Idempotent()
  fail(@Body() { status }: { status: number }) {
    executions += 1;
    throw new HttpException({ executions }, status);
  }
}

const FINAL = [200, 201, 202, 204, 205, 299, 301, 302, 303, 304, 307, 308, 400, 401, 402, 403, 404];
const FINAL_TOO = [405, 406, 407, 409, 410, 412, 413, 415, 418, 422, 423, 424, 426, 428, 431, 451];
// 408 and 504 are how handlers report that another system did not answer in
// time: nobody knows what it did, so they cannot be final.
const NOT_FINAL = [408, 425, 429, 500, 501, 502, 503, 504, 507, 599];

const bothWays = (statuses: number[]) =>
  statuses.flatMap((status) =>
    ['answers', ...(status < 400 ? [] : ['throws'])].map((path) => ({ path, status })),
  );

forEachPlatform('The default finality', (platform) => {
  let app: IdempotentApp;
  beforeAll(async () => {
    app = await startIdempotentApp(platform, { controllers: [StatusController], logger: false });
  });
  afterAll(() => app.close());
  beforeEach(() => {
    executions = 0;
  });

  it.each(bothWays([...FINAL, ...FINAL_TOO]))(
    'of $status: final ($path)',
    async ({ path, status }) => {
      const order = { key: `${path}-${status}`, body: { status } };
      const first = await send(`${app.url}/${path}`, order);
      const retry = await send(`${app.url}/${path}`, order);
      expect(first.status).toBe(status);
      expect(retry.status).toBe(status);
      expect(retry.body).toEqual(first.body);
      expect(retry.headers.get('content-type')).toBe(first.headers.get('content-type'));
      expect(retry.headers.get('idempotent-replayed')).toBe('true');
      expect(executions).toBe(1);
    },
  );

  it.each(bothWays(NOT_FINAL))(
    'of $status: a retry runs again ($path)',
    async ({ path, status }) => {
      const order = { key: `${path}-${status}`, body: { status } };
      const first = await send(`${app.url}/${path}`, order);
      expect(first.status).toBe(status);
      expect(await keyRow(app.database, order.key)).toMatchObject({
        status: 'failed_retryable',
        last_error_code: `http_${status}`,
        response_body: null,
      });
      const retry = await send(`${app.url}/${path}`, order);
      expect([retry.status, retry.json()]).toEqual([status, { executions: 2 }]);
      expect(retry.headers.get('idempotent-replayed')).toBeNull();
    },
  );
});
