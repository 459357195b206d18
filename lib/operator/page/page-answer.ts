import type { Answer } from '../../answers/answer.js';
import type { Html } from './html.js';

/**
 * For every answer of the page. Nothing is loaded from elsewhere, and the page
 * has no inline script or style, so injected markup would do nothing. Not
 * `no-referrer`: browsers would send `Origin: null` with our own forms.
 */
export const HEADERS: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'x-robots-tag': 'noindex, nofollow',
};

export function htmlAnswer(page: Html, status = 200): Answer {
  return answer(status, 'text/html; charset=utf-8', page.text);
}

export function assetAnswer(type: string, text: string): Answer {
  return answer(200, `${type}; charset=utf-8`, text);
}

/**
 * After an action: the browser requests the page again, and a reload does not
 * repeat the action.
 */
export function seeOther(location: string): Answer {
  return { status: 303, headers: { ...HEADERS, location }, body: Buffer.alloc(0) };
}

function answer(status: number, type: string, text: string): Answer {
  return { status, headers: { ...HEADERS, 'content-type': type }, body: Buffer.from(text) };
}
