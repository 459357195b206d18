import { randomUUID } from 'node:crypto';

/**
 * The requests of one job: all alike but for their key.
 *
 * @param {string} path
 * @param {number} [noteSize] bytes to add to the body
 * @returns {(key: string) => string}
 */
export function requestsTo(path, noteSize = 0) {
  const body = JSON.stringify({
    amount: 1999,
    currency: 'EUR',
    reference: 'order 2041-17',
    customer: { id: 'cus_4fdAW5ftNQow1a', name: 'Jean Dupont', email: 'jean@example.org' },
    ...(noteSize > 0 && { note: 'x'.repeat(noteSize) }),
  });
  const head = [
    `POST ${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    'Idempotency-Key: ',
  ].join('\r\n');
  return (key) => `${head}${key}\r\n\r\n${body}`;
}

export const freshKey = randomUUID;

/** A UUIDv7, as the package's client makes them: later keys sort behind earlier ones. */
export function timeOrderedKey() {
  const time = Date.now().toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}
