import { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { Controller, Post, Req } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Idempotent } from 'nestjs-atomic-idempotency';
import { send } from '../support/http.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { formData } from './form-data.js';

let executions = 0;
let uploads = 0;

@Controller()
class UploadsController {
  @Post('uploads')
  @Idempotent()
  async upload(@Req() request: { body?: unknown; raw: IncomingMessage }) {
    executions += 1;
    const { body = request.raw } = request;
    return body instanceof IncomingMessage ? { unparsed: await text(body) } : body;
  }
}

/** What the plugins for forms do with a body; the request names the one to use. */
const parsers = {
  /** The handler asks for the parts one by one. */
  leftToTheHandler: async () => undefined,
  streamAsBody: async (payload: Readable) => payload,
  /** The fields are attached to the body. */
  fieldsAsBody: async (payload: Readable) => {
    const parts = (await text(payload)).matchAll(/name="(\w+)"\r\n\r\n(.*)\r\n/g);
    return Object.fromEntries([...parts].map(([, name, value]) => [name, value]));
  },
  bytesAsBody: (payload: Readable) => buffer(payload),
};
type Parser = keyof typeof parsers;

const upload = { fields: { amount: '1', item: 'rocket' }, file: 'bytes' };
const otherField = { ...upload, fields: { amount: '2', item: 'rocket' } };
const otherFile = { ...upload, file: 'other bytes' };

forEachPlatform(
  'Multipart forms',
  (platform) => {
    describe('A form', () => {
      let app: IdempotentApp;
      beforeAll(async () => {
        app = await startIdempotentApp(platform, {
          controllers: [UploadsController],
          configure: (nest) => {
            const parse = (request: { headers: { 'x-parser': Parser } }, payload: Readable) =>
              parsers[request.headers['x-parser']](payload);
            const fastify = nest.getHttpAdapter().getInstance();
            fastify.addContentTypeParser('multipart/form-data', parse);
          },
        });
      });
      afterAll(() => app.close());

      async function sendTwice(parser: Parser, changed: typeof upload, boundary = 'two') {
        executions = 0;
        const key = `upload-${(uploads += 1)}`;
        const sendForm = ({ body, headers }: ReturnType<typeof formData>) =>
          send(`${app.url}/uploads`, { key, body, headers: { ...headers, 'x-parser': parser } });

        expect((await sendForm(formData('one', upload))).status).toBe(201);
        const retry = await sendForm(formData(boundary, changed));
        expect(executions).toBe(1);
        return retry.headers.get('idempotent-replayed') === 'true' ? 'replayed' : retry.status;
      }

      it.each<Parser>(['leftToTheHandler', 'streamAsBody'])(
        'is not compared if the handler reads it (%s)',
        async (parser) => {
          expect(await sendTwice(parser, upload)).toBe('replayed');
          expect(await sendTwice(parser, otherField)).toBe('replayed');
        },
      );

      it('is compared by the parsed fields, without the boundary', async () => {
        expect(await sendTwice('fieldsAsBody', upload)).toBe('replayed');
        expect(await sendTwice('fieldsAsBody', otherFile)).toBe('replayed');
        expect(await sendTwice('fieldsAsBody', otherField)).toBe(422);
      });

      it('is compared byte for byte if the parser keeps the bytes', async () => {
        expect(await sendTwice('bytesAsBody', upload, 'one')).toBe('replayed');
        expect(await sendTwice('bytesAsBody', otherFile, 'one')).toBe(422);
      });
    });
  },
  ['fastify'],
);
