/** A request that can be sent any number of times, with the same bytes. */
export interface Resendable {
  url: URL;
  init: RequestInit;
  headers: Headers;
  /** Empty where it cannot be computed: browsers have no hashes outside https pages. */
  fingerprint: string;
  /** Redirects are not followed, so a refused connection is one to this very server. */
  direct: boolean;
}

/** Reads the body of a request once, for all attempts. */
export async function resendable(
  input: string | URL | Request,
  init: RequestInit,
  redirect: RequestInit['redirect'],
): Promise<Resendable> {
  if (isStream(init.body)) {
    throw new TypeError(
      'The body is a stream, which cannot be sent again after a failure. Read it first, for example with `await new Response(stream).arrayBuffer()`.',
    );
  }
  const request = new Request(input, init);
  const { method, headers } = request;
  const url = new URL(request.url);
  const body = await request.arrayBuffer();
  const sent: RequestInit = { redirect, ...settingsOf(input), ...init, method, body };
  return {
    url,
    init: sent,
    headers,
    fingerprint: await fingerprintOf(
      `${method} ${url.pathname}${url.search} `,
      headers.get('content-type') ?? '',
      body,
    ),
    direct: (sent.redirect ?? 'follow') !== 'follow',
  };
}

function isStream(body: unknown): boolean {
  return (
    typeof body === 'object' &&
    body !== null &&
    ('getReader' in body || Symbol.asyncIterator in body)
  );
}

/** What a Request says beyond its address, headers and body. The address is sent as text: fetch() may be another one's. */
function settingsOf(input: string | URL | Request): RequestInit {
  if (typeof input === 'string' || input instanceof URL) return {};
  const { credentials, integrity, keepalive, mode, redirect, referrer, referrerPolicy, signal } =
    input;
  return { credentials, integrity, keepalive, mode, redirect, referrer, referrerPolicy, signal };
}

async function fingerprintOf(target: string, type: string, body: ArrayBuffer): Promise<string> {
  const { subtle } = crypto as { subtle?: typeof crypto.subtle };
  if (!subtle) return '';
  // The same form has another boundary each time.
  const boundary = /boundary=([^;]+)/.exec(type)?.[1];
  const content = boundary ? new TextDecoder('latin1').decode(body).replaceAll(boundary, '') : body;
  const all = await new Blob([
    target,
    type.replace(boundary ?? '', ''),
    '\n',
    content,
  ]).arrayBuffer();
  return btoa(String.fromCharCode(...new Uint8Array(await subtle.digest('SHA-256', all))));
}
