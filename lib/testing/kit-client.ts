import type { INestApplication } from '@nestjs/common';
import type { CrashSafetyRequest } from './crash-safety.options.js';
import type { KitAnswer } from './crash-safety.report.js';

/** Sends the user's request to the application over HTTP, as its clients do. */
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
    const response = await fetch(new URL(path, this.url), {
      method,
      headers: {
        ...(body !== undefined && !raw && { 'content-type': 'application/json' }),
        ...request.headers,
        [this.header]: key,
      },
      redirect: 'manual',
      ...(body !== undefined && { body: raw ? body : JSON.stringify(body) }),
      signal,
    });
    return {
      status: response.status,
      contentType: response.headers.get('content-type'),
      body: Buffer.from(await response.arrayBuffer()),
    };
  }
}
