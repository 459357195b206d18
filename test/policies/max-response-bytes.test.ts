import { Readable } from 'node:stream';
import { StreamableFile, UnprocessableEntityException } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { send } from '../support/http.js';
import { keyRow, startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';

const routes = new PolicyRoutes({
  ten: { maxResponseBytes: 10 },
  nothing: { maxResponseBytes: 0 },
  default: {},
});

const MIB = 1024 * 1024;
const file = (...chunks: string[]) =>
  new StreamableFile(Readable.from(chunks, { objectMode: false }));

interface Case {
  name: string;
  path: string;
  answer: () => unknown;
  body: string;
}

const KEPT: Case[] = [
  {
    name: 'a text of exactly the limit',
    path: 'ten',
    answer: () => '0123456789',
    body: '0123456789',
  },
  {
    name: 'a JSON of exactly the limit',
    path: 'ten',
    answer: () => ({ a: 1234 }),
    body: '{"a":1234}',
  },
  { name: 'wide characters', path: 'ten', answer: () => 'é'.repeat(5), body: 'é'.repeat(5) },
  { name: 'a stream', path: 'ten', answer: () => file('01234', '56789'), body: '0123456789' },
  { name: 'an empty answer', path: 'nothing', answer: () => undefined, body: '' },
  { name: 'a mebibyte', path: 'default', answer: () => 'x'.repeat(MIB), body: 'x'.repeat(MIB) },
];

const TOO_LARGE: Case[] = [
  { name: 'one byte above', path: 'ten', answer: () => '0123456789+', body: '0123456789+' },
  { name: 'wide characters', path: 'ten', answer: () => 'é'.repeat(6), body: 'é'.repeat(6) },
  { name: 'a stream', path: 'ten', answer: () => file('01234', '56789', '+'), body: '0123456789+' },
  {
    name: 'a stream of one chunk',
    path: 'ten',
    answer: () => file('0123456789+'),
    body: '0123456789+',
  },
  { name: 'anything', path: 'nothing', answer: () => 'x', body: 'x' },
  {
    name: 'a mebibyte and more',
    path: 'default',
    answer: () => 'x'.repeat(MIB + 1),
    body: 'x'.repeat(MIB + 1),
  },
];

forEachPlatform('maxResponseBytes', (platform) => {
  let app: IdempotentApp;
  beforeAll(async () => {
    app = await startIdempotentApp(platform, { controllers: [routes.controller], logger: false });
  });
  afterAll(() => app.close());

  describe('within the limit', () => {
    it.each(KEPT)('$name is kept and replayed', async ({ name, path, answer, body }) => {
      const key = `kept-${name}`.replaceAll(' ', '-');
      routes.answers(answer);
      for (const replayed of [null, 'true']) {
        const got = await send(`${app.url}/${path}`, { key });
        expect(got.status).toBe(201);
        expect(got.text).toBe(body);
        expect(got.headers.get('idempotent-replayed')).toBe(replayed);
      }
      expect(routes.executions).toBe(1);
    });
  });

  describe('beyond the limit', () => {
    it.each(TOO_LARGE)('$name is sent once, and then 410', async ({ name, path, answer, body }) => {
      const key = `large-${name}`.replaceAll(' ', '-');
      routes.answers(answer);
      const first = await send(`${app.url}/${path}`, { key });
      expect(first.status).toBe(201);
      expect(first.text).toBe(body);

      for (let retry = 1; retry <= 2; retry++) {
        const answered = await send(`${app.url}/${path}`, { key });
        expect(answered.status).toBe(410);
        expect(answered.json()).toMatchObject({
          code: 'response_unavailable',
          original_status: 201,
          detail: expect.stringContaining('status 201'),
          retryable: false,
        });
      }
      expect(routes.executions).toBe(1);
      expect(await keyRow(app.database, key)).toMatchObject({
        status: 'completed',
        response_status: 201,
        response_body: null,
      });
    });

    it('an error names its own status', async () => {
      routes.answers(() => {
        throw new UnprocessableEntityException('a long explanation');
      });
      const first = await send(`${app.url}/ten`, { key: 'error' });
      expect(first.status).toBe(422);
      expect(first.text).toContain('a long explanation');
      const retry = await send(`${app.url}/ten`, { key: 'error' });
      expect(retry.status).toBe(410);
      expect(retry.json()).toMatchObject({ code: 'response_unavailable', original_status: 422 });
      expect(routes.executions).toBe(1);
    });
  });
});
