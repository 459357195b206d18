import type { IncomingRequest } from '../../request/incoming-request.js';

/** Everything that the page serves, by the last part of its path. */
export type PageName =
  | ''
  | 'keys'
  | 'key'
  | 'letters'
  | 'letter'
  | 'decide'
  | 'bulk'
  | 'requeue'
  | 'style.css'
  | 'script.js'
  | 'icon.svg';

/**
 * Addresses relative to the requested one. They work behind a proxy that adds or
 * removes a part of the path, and with any global prefix.
 */
export class Links {
  private readonly base: string;

  constructor(request: IncomingRequest, page: PageName) {
    const [path = ''] = (request.originalUrl ?? request.url).split(/[?#]/, 1);
    const depth = page === '' ? 0 : 1;
    const mount =
      path
        .split('/')
        .filter(Boolean)
        .at(-1 - depth) ?? '';
    // Express also serves a page with a trailing slash, which is one level deeper.
    const levels = depth + (path.endsWith('/') ? 1 : 0);
    // "./", because a name with a colon in it would be read as a scheme.
    this.base = `${levels === 0 ? './' : '../'.repeat(levels)}${mount}`;
  }

  to(page: PageName, query: Record<string, string | undefined> = {}): string {
    const given = Object.entries(query).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== '',
    );
    const search = given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`;
    return `${this.base}${page === '' ? '' : `/${page}`}${search}`;
  }
}
