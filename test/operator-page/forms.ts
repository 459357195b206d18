import { send, type Received } from '../support/http.js';

/** As a browser sends a form of the page itself. */
export function submit(
  url: string,
  fields: Record<string, string>,
  headers: Record<string, string> = { 'sec-fetch-site': 'same-origin' },
  user = 'ada',
): Promise<Received> {
  return send(url, {
    body: new URLSearchParams(fields).toString(),
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'x-user': user,
      ...headers,
    },
  });
}

export function get(url: string, user: string | undefined = 'ada'): Promise<Received> {
  return send(url, { method: 'GET', headers: user === '' ? {} : { 'x-user': user } });
}

/** The fields of a decision about an unknown key that `insertUnknown` made. */
export function decision(
  { id, effectKey }: { id: string; effectKey: string },
  fields: Record<string, string> = {},
): Record<string, string> {
  return {
    id,
    effect: effectKey,
    seen_status: 'unknown',
    seen_attempt: '2',
    action: 'resolve',
    outcome: 'executed',
    result: '{"chargeId":"ch_1"}',
    reason: 'The provider shows the charge.',
    evidence: 'https://pay.example.com/ch_1',
    step: 'do',
    ...fields,
  };
}
