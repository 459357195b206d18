import { Readable } from 'node:stream';
import type { ServerResponse } from 'node:http';
import {
  Catch,
  ConflictException,
  Controller,
  Header,
  HttpCode,
  Post,
  Redirect,
  Res,
  StreamableFile,
  UseFilters,
  type ArgumentsHost,
  type ExceptionFilter,
} from '@nestjs/common';

/** The methods that an Express response and a Fastify reply have in common, and their rest. */
export interface AnyResponse {
  status(code: number): AnyResponse;
  header(name: string, value: string): AnyResponse;
  send(body?: unknown): AnyResponse;
  /** Fastify only. */
  raw?: ServerResponse;
  hijack?(): void;
}

export const rawOf = (response: AnyResponse): ServerResponse =>
  response.raw ?? (response as unknown as ServerResponse);

class OutOfStock extends Error {}

@Catch(OutOfStock)
class OutOfStockFilter implements ExceptionFilter {
  catch(_error: OutOfStock, host: ArgumentsHost): void {
    const response = host.switchToHttp().getResponse<AnyResponse>();
    response.status(422).header('x-total', '0').send({ sorry: 'out of stock' });
  }
}

/** Longer than what compression leaves alone, and more than one byte per character. */
export const LONG_TEXT = 'Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich. '.repeat(
  50,
);

/** Every way in which a handler can answer: the path is the name. */
@Controller()
export class KindsOfAnswers {
  @Post('object')
  @Header('X-Total', '3')
  @Header('Content-Language', 'de')
  object() {
    return { b: 2, a: 1, text: LONG_TEXT, when: new Date(0) };
  }

  @Post('string')
  string() {
    return LONG_TEXT;
  }

  @Post('empty')
  empty(): void {}

  @Post('no-content')
  @HttpCode(204)
  noContent() {
    return { never: 'sent' };
  }

  @Post('null')
  null() {
    return null;
  }

  @Post('file')
  file() {
    return new StreamableFile(Buffer.from(LONG_TEXT), { type: 'text/csv' });
  }

  @Post('stream')
  stream(@Res() response: AnyResponse) {
    const stream = Readable.from(['first,', LONG_TEXT, Buffer.from([0, 255, 128])]);
    response.status(202).header('Content-Type', 'application/x-custom');
    if (response.raw) response.send(stream);
    else stream.pipe(rawOf(response));
  }

  @Post('generator')
  async *generator() {
    yield { line: 1 };
    await Promise.resolve();
    yield { line: 2, text: LONG_TEXT };
  }

  @Post('web-response')
  webResponse() {
    return new Response(LONG_TEXT, {
      status: 203,
      headers: { 'content-type': 'text/markdown', etag: '"v1"', 'set-cookie': 'session=secret' },
    });
  }

  @Post('http-exception')
  httpException() {
    throw new ConflictException({ message: 'taken', text: LONG_TEXT });
  }

  @Post('unknown-error')
  unknownError() {
    throw new Error('must not be shown');
  }

  @Post('custom-filter')
  @UseFilters(OutOfStockFilter)
  customFilter() {
    throw new OutOfStock();
  }

  @Post('redirect')
  @Redirect('https://example.com/elsewhere', 307)
  redirect(): void {}

  @Post('res-send')
  resSend(@Res() response: AnyResponse) {
    response.status(201).header('Location', '/orders/7').send({ id: 7 });
  }

  @Post('raw')
  raw(@Res() response: AnyResponse) {
    response.hijack?.();
    const raw = rawOf(response);
    raw.writeHead(202, { 'Content-Type': 'text/plain', 'X-Total': '2' });
    raw.write('grüße,', 'latin1');
    raw.write(Buffer.from([1, 2, 3]));
    raw.end('7a', 'hex');
  }

  @Post('passthrough')
  passthrough(@Res({ passthrough: true }) response: AnyResponse) {
    response.status(206).header('Last-Modified', 'Thu, 01 Jan 1970 00:00:00 GMT');
    return { passed: 'through' };
  }

  @Post('send-then-throw')
  sendThenThrow(@Res() response: AnyResponse) {
    response.status(201).send({ sent: 'first' });
    throw new Error('too late');
  }
}

export const KINDS: Record<string, { status: number; body?: unknown }> = {
  object: { status: 201 },
  string: { status: 201, body: LONG_TEXT },
  empty: { status: 201, body: '' },
  'no-content': { status: 204, body: '' },
  null: { status: 201 },
  file: { status: 201, body: LONG_TEXT },
  stream: { status: 202 },
  generator: { status: 201 },
  'web-response': { status: 203, body: LONG_TEXT },
  'http-exception': { status: 409 },
  'unknown-error': { status: 500, body: '{"statusCode":500,"message":"Internal server error"}' },
  'custom-filter': { status: 422, body: '{"sorry":"out of stock"}' },
  redirect: { status: 307 },
  'res-send': { status: 201, body: '{"id":7}' },
  raw: { status: 202 },
  passthrough: { status: 206 },
  'send-then-throw': { status: 201, body: '{"sent":"first"}' },
};
