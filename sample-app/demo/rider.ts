import { setTimeout as delay } from 'node:timers/promises';
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
  /** The members that the story looks at: of a ride, a tip or a problem. */
  body: { id?: string; chargeId?: string; code?: string; title?: string; message?: string };
  replayed: boolean;
  retryAfter: number;
}

/** A client of the app that shows what it sends and gets. */
export class Rider {
  constructor(
    private readonly narrator: Narrator,
    private readonly appUrl: string,
    private readonly token: string,
  ) {}

  async send(request: RiderRequest): Promise<Answer> {
    const begun = performance.now();
    const answer = await this.ask(request);
    this.narrator.event(performance.now() - begun, describe(request, answer));
    return answer;
  }

  /**
   * Repeats a request for as long as the answer is "still in progress". It asks
   * more often than Retry-After says, to show how long it really takes.
   */
  async sendUntilSettled(request: RiderRequest): Promise<Answer> {
    const begun = performance.now();
    for (let asked = 0; ; asked += 1) {
      const answer = await this.ask(request);
      if (answer.body.code === 'in_progress') {
        await delay(100);
        continue;
      }
      if (asked > 0) {
        this.narrator.event(performance.now() - begun, `${asked} × ${status(409)} in_progress`);
      }
      this.narrator.event(performance.now() - begun, describe(request, answer));
      return answer;
    }
  }

  /** Sends, and is gone before the answer arrives. */
  async sendAndHangUp(request: RiderRequest, hangUp: AbortSignal): Promise<void> {
    await this.fetch(request, hangUp).then(
      () => Promise.reject(new Error('The answer came before the client could hang up.')),
      (error: unknown) => (hangUp.aborted ? undefined : Promise.reject(error as Error)),
    );
  }

  private async ask(request: RiderRequest): Promise<Answer> {
    const response = await this.fetch(request);
    const text = await response.text();
    return {
      status: response.status,
      text,
      body: JSON.parse(text) as Answer['body'],
      replayed: response.headers.get('idempotent-replayed') === 'true',
      retryAfter: Number(response.headers.get('retry-after')),
    };
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

/** One line for a terminal: what the answer is about, not all that is in it. */
function describe({ path, key }: RiderRequest, { status: code, body, replayed }: Answer): string {
  const { id, chargeId, code: problem, title, message } = body;
  const gist = chargeId
    ? `ride ${id}, charge ${chargeId.slice(0, 11)}…`
    : problem
      ? `${problem}: ${title}`
      : (message ?? '');
  const parts = [`POST ${path}`, paint('gray', `key ${key}`), '→', status(code), gist];
  if (replayed) parts.push(paint('magenta', '(replayed)'));
  return parts.join(' ');
}

function status(code: number): string {
  const style = code < 300 ? 'green' : code < 500 ? 'yellow' : 'red';
  return paint(style, String(code));
}
