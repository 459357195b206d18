import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Another system in this process, over HTTP. It acts once per key, if a request has one. */
export class Provider {
  /** What it has done. */
  readonly effects: string[] = [];
  private readonly answers = new Map<string, string>();
  private readonly server = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      const key = request.headers['idempotency-key'];
      const known = typeof key === 'string' ? this.answers.get(key) : undefined;
      const answer = known ?? JSON.stringify({ id: `ch_${this.effects.length + 1}` });
      if (known === undefined && request.method !== 'GET') this.effects.push(body);
      if (typeof key === 'string') this.answers.set(key, answer);
      response.setHeader('content-type', 'application/json');
      response.end(answer);
    });
  });

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** A client of it: what an application would write around fetch(). */
  async charge(body: object, key?: string): Promise<{ id: string }> {
    const response = await fetch(`${this.url}/charges`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(key !== undefined && { 'idempotency-key': key }),
      },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`The provider answered ${response.status}.`);
    return (await response.json()) as { id: string };
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
