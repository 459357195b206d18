import { AnswerError } from './errors.js';

/**
 * The body of a successful answer: JSON where it is JSON, else text, undefined
 * where it is empty. Any other answer is thrown as an `AnswerError`; in a foreign
 * phase, a 4xx is thereby the other system's definite no.
 */
export async function resultOf<T = unknown>(response: Response): Promise<T> {
  const text = await response.text();
  const body: unknown = isJson(response) && text ? JSON.parse(text) : text || undefined;
  if (!response.ok) throw new AnswerError(response.status, body, response);
  return body as T;
}

export function isJson({ headers }: Response): boolean {
  return /[/+]json/i.test(headers.get('content-type') ?? '');
}
