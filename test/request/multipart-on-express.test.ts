import { createHash } from 'node:crypto';
import { Body, Controller, Post, UploadedFile, UseInterceptors } from '@nestjs/common';
import { FileInterceptor } from '@nestjs/platform-express';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Idempotent } from 'nestjs-atomic-idempotency';
import { send } from '../support/http.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { formData } from './form-data.js';

let executions = 0;
let uploads = 0;

interface Upload {
  buffer: Buffer;
}

function answerTo(body: unknown, file: Upload) {
  return { execution: ++executions, body, bytes: file.buffer.toString() };
}

@Controller()
class UploadsController {
  /** Interceptors run from the lowest decorator up: the key is checked first, the form parsed after it. */
  @Post('checked-first')
  @UseInterceptors(FileInterceptor('file'))
  @Idempotent()
  checkedFirst(@Body() body: unknown, @UploadedFile() file: Upload) {
    return answerTo(body, file);
  }

  @Post('parsed-first')
  @Idempotent()
  @UseInterceptors(FileInterceptor('file'))
  parsedFirst(@Body() body: unknown, @UploadedFile() file: Upload) {
    return answerTo(body, file);
  }

  @Post('with-file')
  @Idempotent({
    fingerprint: ({ body, file }: { body: object; file: Upload }) => ({
      body,
      file: createHash('sha256').update(file.buffer).digest('hex'),
    }),
  })
  @UseInterceptors(FileInterceptor('file'))
  withFile(@Body() body: unknown, @UploadedFile() file: Upload) {
    return answerTo(body, file);
  }
}

const upload = { fields: { amount: '1', item: 'rocket' }, file: 'bytes' };
const otherField = { ...upload, fields: { amount: '2', item: 'rocket' } };
const otherFile = { ...upload, file: 'other bytes' };

forEachPlatform(
  'Multipart forms',
  (platform) => {
    describe('A form with a file', () => {
      let app: IdempotentApp;
      beforeAll(async () => {
        app = await startIdempotentApp(platform, { controllers: [UploadsController] });
      });
      afterAll(() => app.close());

      async function sendTwice(path: string, changed: typeof upload) {
        executions = 0;
        const key = `upload-${(uploads += 1)}`;
        const first = await send(`${app.url}/${path}`, { key, ...formData('one', upload) });
        expect(first.json()).toEqual({ execution: 1, body: upload.fields, bytes: upload.file });
        // Every client makes a new boundary for every request.
        const retry = await send(`${app.url}/${path}`, { key, ...formData('two', changed) });
        expect(executions).toBe(1);
        return retry.headers.get('idempotent-replayed') === 'true' ? 'replayed' : retry.status;
      }

      it.each(['checked-first', 'parsed-first', 'with-file'])(
        'that is sent again is recognised (%s)',
        async (path) => {
          expect(await sendTwice(path, upload)).toBe('replayed');
        },
      );

      it('is not compared if it is parsed after the key was checked', async () => {
        expect(await sendTwice('checked-first', otherField)).toBe('replayed');
        expect(await sendTwice('checked-first', otherFile)).toBe('replayed');
      });

      it('is compared by its fields if it is parsed before', async () => {
        expect(await sendTwice('parsed-first', otherField)).toBe(422);
        expect(await sendTwice('parsed-first', otherFile)).toBe('replayed');
      });

      it('is compared by its bytes as well if the fingerprint option says so', async () => {
        expect(await sendTwice('with-file', otherField)).toBe(422);
        expect(await sendTwice('with-file', otherFile)).toBe(422);
      });

      it('that cannot be parsed leaves the key free', async () => {
        executions = 0;
        const { headers } = formData('one', upload);
        const broken = await send(`${app.url}/checked-first`, {
          key: 'broken',
          headers,
          body: Buffer.from(
            '--one\r\nContent-Disposition: form-data; name="other"; filename="a"\r\n\r\n',
          ),
        });
        expect(broken.status).toBe(400);
        expect(executions).toBe(0);
        const whole = await send(`${app.url}/checked-first`, {
          key: 'broken',
          ...formData('two', upload),
        });
        expect(whole.status).toBe(201);
      });
    });
  },
  // FileInterceptor exists for Express only; for Fastify see multipart-on-fastify.test.ts.
  ['express'],
);
