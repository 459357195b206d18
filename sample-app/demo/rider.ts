import type { Narrator } from './narrator.js';
import { paint } from './terminal.js';

export interface RiderRequest {
  path: string;
  key: string;
  body: object;
}

export interface Answer {
  status: number;
  /** The exact text, for comparing one answer with another. */
  text: string;
  body: { [member: string]: unknown };
  replayed: boolean;
  retryAfter: string | null;
}

/** A client of the app that shows what it sends and gets. */
export class Rider {
  constructor(
    private readonly narrator: Narrator,
    private readonly appUrl: string,
    private readonly token: string,
  ) {}

  async send({ path, key, body }: RiderRequest): Promise<Answer> {
    const begun = performance.now();
    const response = await this.fetch({ path, key, body });
    const text = await response.text();
    const replayed = response.headers.get('idempotent-replayed') === 'true';
    this.narrator.event(
      performance.now() - begun,
      `POST ${path} ${paint('gray', `key ${key}`)} → ${status(response.status)} ` +
        `${paint('gray', text)}${replayed ? paint('magenta', ' (replayed)') : ''}`,
    );
    return {
      status: response.status,
      text,
      body: JSON.parse(text) as Answer['body'],
      replayed,
      retryAfter: response.headers.get('retry-after'),
    };
  }

  /**
   * Repeats a request as a well-behaved client does: for as long as the answer is
   * "still in progress". How long that takes is the answer's business, so it asks
   * often instead of guessing.
   */
  async sendUntilSettled(request: RiderRequest): Promise<Answer> {
    const begun = performance.now();
    let refused = 0;
    for (;;) {
      const response = await this.fetch(request);
      const body = (await response.clone().json()) as { code?: string };
      if (body.code !== 'in_progress') break;
      refused += 1;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    if (refused > 0) {
      this.narrator.event(
        performance.now() - begun,
        `${refused} × ${status(409)} in_progress, until the first attempt was over`,
      );
    }
    return this.send(request);
  }

  /** Sends, and is gone before the answer arrives. */
  async sendAndHangUp(request: RiderRequest, hangUp: AbortSignal): Promise<void> {
    await this.fetch(request, hangUp).then(
      () => Promise.reject(new Error('The answer came before the client could hang up.')),
      (error: unknown) => (hangUp.aborted ? undefined : Promise.reject(error as Error)),
    );
  }

  private fetch({ path, key, body }: RiderRequest, signal?: AbortSignal): Promise<Response> {
    return fetch(new URL(path, this.appUrl), {
      method: 'POST',
      headers: {
        authorization: `Bearer ${this.token}`,
        'content-type': 'application/json',
        'idempotency-key': key,
      },
      body: JSON.stringify(body),
      ...(signal && { signal }),
    });
  }
}

function status(code: number): string {
  const style = code < 300 ? 'green' : code < 500 ? 'yellow' : 'red';
  return paint(style, String(code));
}
