import { Agent, createServer, request as httpRequest, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Another system in this process, over HTTP. It acts once per key, if a request has one. */
export class Provider {
  /** What it has done. */
  readonly effects: string[] = [];
  private readonly agent = new Agent({ keepAlive: true, maxSockets: 1 });
  private readonly answers = new Map<string, string>();
  private readonly server = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      const key = request.headers['idempotency-key'];
      const known = typeof key === 'string' ? this.answers.get(key) : undefined;
      if (request.url === '/declines') response.statusCode = 402;
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
  async charge(
    body: object,
    key?: string,
    headers?: Record<string, string>,
  ): Promise<{ id: string }> {
    const response = await this.send('/charges', body, key, headers);
    if (!response.ok) throw new Error(`The provider answered ${response.status}.`);
    return (await response.json()) as { id: string };
  }

  send(
    path: string,
    body: object,
    key?: string,
    headers?: Record<string, string>,
  ): Promise<Response> {
    return fetch(`${this.url}${path}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(key !== undefined && { 'idempotency-key': key }),
        ...headers,
      },
      body: JSON.stringify(body),
    });
  }

  /** The same by node:http, on a connection that earlier calls have used. */
  async chargeKeptAlive(body: object, key: string): Promise<{ id: string }> {
    const headers = { 'content-type': 'application/json', 'idempotency-key': key };
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      httpRequest(`${this.url}/charges`, { method: 'POST', headers, agent: this.agent }, resolve)
        .on('error', reject)
        .end(JSON.stringify(body));
    });
    const answer = await bodyOf(response);
    if (response.statusCode !== 200) {
      throw new Error(`The provider answered ${response.statusCode}.`);
    }
    return JSON.parse(answer) as { id: string };
  }

  /** What it has done under a key. */
  find(key: string): { id: string } | undefined {
    const answer = this.answers.get(key);
    return answer === undefined ? undefined : (JSON.parse(answer) as { id: string });
  }

  async close(): Promise<void> {
    this.agent.destroy();
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
