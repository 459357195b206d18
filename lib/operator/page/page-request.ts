import type { IncomingRequest } from '../../request/incoming-request.js';
import { Links } from './links.js';
import type { Visitor } from './page-access.js';

/** A request for the page, past its guards and `access`. */
export interface PageRequest {
  /** The adapter's request, for `access`. */
  raw: IncomingRequest;
  visitor: Visitor;
  query: Fields;
  form: Fields;
  links: Links;
}

/** The fields of a form or of a query; the last value of a name counts. */
export class Fields {
  private readonly texts = new Map<string, string>();

  constructor(entries: Iterable<readonly [string, unknown]>) {
    for (const [name, value] of entries) {
      const text: unknown = Array.isArray(value) ? value.at(-1) : value;
      if (typeof text === 'string') this.texts.set(name, text);
    }
  }

  /** Undefined if it is missing or blank. */
  text(name: string): string | undefined {
    const text = this.texts.get(name)?.trim();
    return text === '' ? undefined : text;
  }

  /** All names and values. */
  get entries(): [string, string][] {
    return [...this.texts];
  }
}

export function queryOf(request: IncomingRequest): Fields {
  // Not the parsed one: Express and Fastify disagree about repeated names and brackets.
  const [, query = ''] = (request.originalUrl ?? request.url).split('?', 2);
  return new Fields(new URLSearchParams(query));
}

/** Undefined if there is no parsed form. */
export function formOf({ body, headers }: IncomingRequest): Fields | undefined {
  const type = String(headers['content-type'] ?? '');
  if (!/^application\/x-www-form-urlencoded\b/i.test(type)) return undefined;
  if (typeof body !== 'object' || body === null || Buffer.isBuffer(body)) return undefined;
  return new Fields(Object.entries(body));
}
