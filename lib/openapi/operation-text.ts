import type { ResolvedPolicy } from '../policy/resolve-policy.js';
import type { DocumentedRoute } from './idempotent-operation.js';

/** What the description of an operation says about its keys, for the developers of clients. */
export function descriptionOf(
  route: DocumentedRoute,
  required: boolean,
  header: string | undefined,
): string {
  const { policy } = route;
  return [
    `**Idempotent.** ${keyText(route, required, header)}`,
    `${whileRunning(policy)} ${afterwards(policy)}`,
    policy.onMismatch === 'replay'
      ? 'A key that is used again with another request gets the first answer, too.'
      : 'A key that is used again with another request is refused.',
  ].join(' ');
}

function keyText(route: DocumentedRoute, required: boolean, header: string | undefined): string {
  if (header === undefined) {
    return 'The key of the operation is part of the request itself: the same request takes effect once.';
  }
  const key = `the header \`${header}\``;
  const repeat = 'repeat it to retry: the operation takes effect once.';
  if (route.method === 'ALL') {
    const need = required ? 'POST and PATCH require a key' : 'POST and PATCH take a key';
    return `${need} in ${key}, PUT and DELETE use one if it is sent, and other methods do not read it; ${repeat}`;
  }
  return required
    ? `Send a key in ${key} and ${repeat}`
    : `Send a key in ${key} if the request may be retried, and ${repeat}`;
}

function whileRunning({ run, onInProgress, waitFor }: ResolvedPolicy): string {
  if (run === 'background') {
    return 'It is accepted first and done by a worker; a retry gets its answer when it is there.';
  }
  if (onInProgress === 'accept') return 'While the first request runs, a retry gets 202.';
  return onInProgress === 'wait'
    ? `While the first request runs, a retry waits for its answer, for up to ${inWords(waitFor)}.`
    : 'While the first request runs, a retry is refused for now.';
}

function afterwards({ retention, retentionOf, onExpired, staleKeys }: ResolvedPolicy): string {
  if (retention === null && !retentionOf) {
    return 'After that, a retry gets the same answer, however late it comes.';
  }
  const later =
    onExpired === 'gone'
      ? 'A later one is refused.'
      : staleKeys === 'reject'
        ? 'A later one is refused if its key is a UUIDv7 or a ULID, and is a new operation otherwise.'
        : 'A later one is a new operation.';
  if (retentionOf || retention === null) {
    return `After that, a retry gets the same answer until the date in \`Idempotency-Key-Expires\`, or however late it comes if there is none. ${later}`;
  }
  return `For ${inWords(retention)} after that, a retry gets the same answer. ${later}`;
}

const UNITS = [
  // From two on: a day is 24 hours.
  { name: 'day', size: 86_400_000, from: 2 },
  { name: 'hour', size: 3_600_000, from: 1 },
  { name: 'minute', size: 60_000, from: 1 },
  { name: 'second', size: 1_000, from: 1 },
];

/** In the largest unit that gives a whole number: `24 hours`, `7 days`. */
function inWords(milliseconds: number): string {
  const { name, size } = UNITS.find(
    (unit) => milliseconds % unit.size === 0 && milliseconds >= unit.from * unit.size,
  ) ?? { name: 'millisecond', size: 1 };
  const count = milliseconds / size;
  return `${count} ${name}${count === 1 ? '' : 's'}`;
}
