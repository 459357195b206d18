import { Logger } from '@nestjs/common';
import type { ResolvedPolicy } from '../policy/resolve-policy.js';
import { ReportedOnce } from '../telemetry/reported-once.js';
import { givenKeyInvalid } from './given-key.js';
import { keyInvalid } from './key-header.js';
import { keyTime } from './key-time.js';
import { personalDataIn } from './personal-data.js';

/** 64 random bits in hexadecimal digits; a UUID has 36 characters. */
const SHORTEST_UNIQUE_KEY = 16;

/** A UUID of zeros has two; a random one has hardly ever fewer than eight. */
const FEWEST_CHARACTERS = 5;

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** What is wrong with a key, and what is to be said about it. Never the key itself. */
interface Flaw {
  kind: string;
  /** A sentence that begins with the key as its subject: `looks like …`. */
  what: string;
  /** Why it matters, and what to send instead. */
  cure: string;
}

/** Looks at keys that clients should not send. Only where the policy asks for it. */
export class KeyHygiene {
  private readonly logger = new Logger('IdempotencyModule');
  private readonly reported = new ReportedOnce();

  constructor(private readonly header: string) {}

  /** @param route controller and method, for the log */
  check(key: string, route: string, policy: ResolvedPolicy): void {
    const flaw = flawOf(key, policy);
    if (flaw && policy.hygiene === 'refuse') {
      const detail = `It ${flaw.what}. ${flaw.cure}`;
      throw policy.key ? givenKeyInvalid(detail) : keyInvalid(this.header, detail);
    }
    if (flaw) {
      this.warn(
        `${route} ${flaw.kind}`,
        `${route}: a client sent a key that ${flaw.what}. ${flaw.cure} (This is said once for each route. hygiene: 'refuse' refuses such keys, hygiene: 'off' says nothing.)`,
      );
    } else if (couldRejectStaleKeys(policy) && keyTime(key) !== undefined) {
      this.warn(
        `${route} stale`,
        `${route}: clients send keys that tell when they were made (UUIDv7 or ULID). With staleKeys: 'reject', a retry that comes after its key was forgotten is refused; now it would run as a new operation. Set it on the route or on the module.`,
      );
    }
  }

  private warn(name: string, line: string): void {
    if (this.reported.isNew(name)) this.logger.warn(line);
  }
}

function flawOf(key: string, policy: ResolvedPolicy): Flaw | undefined {
  // The digits of a UUID have no meaning.
  const personal = UUID.test(key) ? undefined : personalDataIn(key);
  if (personal !== undefined) {
    return {
      kind: personal,
      what: `looks like it holds ${personal}`,
      cure: 'Keys are stored, shown to operators and written into logs on the way. Send a random value that names nobody, such as a UUID.',
    };
  }
  return isOwnId(policy) ? undefined : weaknessOf(key);
}

function weaknessOf(key: string): Flaw | undefined {
  const cure =
    'Two operations may come to use the same key, and the second would get the answer of the first. Send a new random value for each operation, such as a UUID.';
  if (key.length < SHORTEST_UNIQUE_KEY) {
    return {
      kind: 'short',
      what: `has ${key.length} character${key.length === 1 ? '' : 's'}, too few to be unique`,
      cure,
    };
  }
  const different = new Set(key).size;
  return different < FEWEST_CHARACTERS
    ? { kind: 'uniform', what: `has only ${different} different characters`, cure }
    : undefined;
}

/** The application takes an id for the key, or says that clients do: it may be short. */
function isOwnId({ key, keyspace }: Pick<ResolvedPolicy, 'key' | 'keyspace'>): boolean {
  return key !== undefined || keyspace === 'endpoint';
}

/** How long a key has to be on a route. */
export function shortestKey(policy: Pick<ResolvedPolicy, 'hygiene' | 'key' | 'keyspace'>): number {
  return policy.hygiene === 'refuse' && !isOwnId(policy) ? SHORTEST_UNIQUE_KEY : 1;
}

function couldRejectStaleKeys({ staleKeys, retention, onExpired }: ResolvedPolicy): boolean {
  return staleKeys === 'accept' && retention !== null && onExpired === 'forget';
}
