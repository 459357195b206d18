import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { INestApplication } from '@nestjs/common';
import type { CrashSafetyRequest } from './crash-safety.options.js';
import type { KitAnswer } from './crash-safety.report.js';

/**
 * Sends the user's request to the application over HTTP, as its clients do. Each
 * on a connection of its own: one that is kept alive may be closed by the server
 * at any time, which would look like a crash.
 */
export class KitClient {
  private constructor(
    private readonly url: string,
    private readonly header: string,
  ) {}

  static async of(app: INestApplication, header: string): Promise<KitClient> {
    const server = app.getHttpServer() as { listening: boolean };
    if (!server.listening) await app.listen(0, '127.0.0.1');
    return new KitClient(await app.getUrl(), header);
  }

  async send(request: CrashSafetyRequest, key: string, signal: AbortSignal): Promise<KitAnswer> {
    const { body, path, method = 'POST' } = request;
    const raw = typeof body === 'string' || body instanceof Uint8Array;
    const bytes = body === undefined ? undefined : Buffer.from(raw ? body : JSON.stringify(body));
    const url = new URL(path, this.url);
    const headers = {
      ...(body !== undefined && !raw && { 'content-type': 'application/json' }),
      ...(bytes && { 'content-length': bytes.length }),
      ...request.headers,
      [this.header]: key,
    };
    const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      // A certificate of a test is nobody's but its own.
      send(url, { method, headers, signal, agent: false, rejectUnauthorized: false }, resolve)
        .on('error', reject)
        .end(bytes);
    });
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    return {
      status: response.statusCode!,
      contentType: response.headers['content-type'] ?? null,
      body: Buffer.concat(chunks),
    };
  }
}
