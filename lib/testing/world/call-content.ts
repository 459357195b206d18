import { leavesOf } from './leaves.js';
import type { OutgoingCall } from './outgoing-call.js';

/**
 * What a call asks the other system for, as leaves: its path, and the members of
 * its body. Undefined where the body is neither JSON nor a form.
 */
export function contentOf(call: OutgoingCall): Map<string, Set<string>> | undefined {
  if (call.kind !== 'http') return undefined;
  const { text } = call;
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const head = text.slice(0, end);
  const body = bodyOf(text.slice(end + 4), head);
  const path = /^\S+ ([^\s?]+)/.exec(head)?.[1];
  const read = body === '' ? {} : parse(body, head);
  return read === undefined ? undefined : leavesOf({ path, body: read });
}

function parse(body: string, head: string): unknown {
  if (/^content-type:.*x-www-form-urlencoded/im.test(head)) {
    return Object.fromEntries(new URLSearchParams(body));
  }
  try {
    return JSON.parse(body) as unknown;
  } catch {
    return undefined;
  }
}

/** Without the lengths between its parts. */
function bodyOf(sent: string, head: string): string {
  if (!/^transfer-encoding:.*chunked/im.test(head)) return sent;
  let body = '';
  for (let at = 0; ;) {
    const line = sent.indexOf('\r\n', at);
    const size = line < 0 ? 0 : Number.parseInt(sent.slice(at, line), 16);
    if (!(size > 0)) return body;
    body += sent.slice(line + 2, line + 2 + size);
    at = line + 2 + size + 2;
  }
}
