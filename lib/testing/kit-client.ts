import type { INestApplication } from '@nestjs/common';
import type { CrashSafetyRequest, KitAnswer } from './crash-safety.js';

/** What the kit reads off one answer. */
export interface KitResponse extends KitAnswer {
  /** The answer is on record: this one and all later ones are the same. */
  final: boolean;
  unknown: boolean;
}

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

  async send(request: CrashSafetyRequest, key: string, signal?: AbortSignal): Promise<KitResponse> {
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
      ...(signal && { signal }),
    });
    const bytes = Buffer.from(await response.arrayBuffer());
    return {
      status: response.status,
      contentType: response.headers.get('content-type'),
      body: bytes,
      final:
        response.headers.has('idempotency-key-expires') ||
        response.headers.has('idempotent-replayed'),
      unknown: response.status === 409 && bytes.includes('"outcome_unknown"'),
    };
  }
}
