import type { IncomingRequest } from '../../request/incoming-request.js';

/**
 * Why a form must be refused, or undefined. A browser sends the cookies and
 * passwords of this site also with forms of other sites. It says where a form
 * comes from in headers that no script can set: `Sec-Fetch-Site`, which covers
 * the scheme and the port and needs no configuration behind a proxy; and
 * `Origin`, because browsers do not send the former without TLS.
 */
export function foreignForm({ headers }: IncomingRequest): string | undefined {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) {
    if (site === 'same-origin') return undefined;
    return 'The form was sent from another site.';
  }
  const { origin, host } = headers;
  if (origin === undefined) {
    return 'The browser did not say where the form comes from (no Sec-Fetch-Site and no Origin header).';
  }
  if (
    typeof origin === 'string' &&
    typeof host === 'string' &&
    hostOf(origin) === hostOf(`http://${host}`)
  ) {
    return undefined;
  }
  return 'The form comes from an origin other than the host that it was sent to. If a proxy changes the Host header, let it keep the original one, or serve the page over HTTPS.';
}

/** Without the port that belongs to the scheme. A proxy may have ended TLS, so the schemes can differ. */
function hostOf(origin: string): string | undefined {
  if (!URL.canParse(origin)) return undefined;
  const { hostname, port } = new URL(origin);
  return `${hostname}:${port === '' || port === '80' || port === '443' ? '' : port}`;
}
