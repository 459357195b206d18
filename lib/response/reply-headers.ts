import type { OutgoingHttpHeaders } from 'node:http';
import type { FastifyReply } from './fastify-shapes.js';
import type { HeaderTarget } from './response-headers.js';

/** The headers of a Fastify reply: its own and those that middleware set on the raw response. */
export class ReplyHeaders implements HeaderTarget {
  constructor(private readonly reply: FastifyReply) {}

  getHeaders(): OutgoingHttpHeaders {
    return this.reply.getHeaders();
  }

  setHeader(name: string, value: string | string[]): void {
    // Fastify appends to an existing set-cookie. Other headers are not removed first: a deletion
    // makes the headers object slow.
    if (name === 'set-cookie') this.reply.removeHeader(name);
    this.reply.header(name, value);
  }

  removeHeader(name: string): void {
    this.reply.removeHeader(name);
  }
}
