import { createHash } from 'node:crypto';
import type { Received } from '../../support/http.js';
import { NEVER, type Operation, type Told } from '../linearizability/history.js';
import type { Errand } from './errand.js';

/** What all clients of one key saw. */
export interface KeyHistory {
  errand: Errand;
  operations: Operation[];
  /** Answers that no client should ever get. */
  unexpected: string[];
  /** Its client sends no more requests before the faults are over. */
  isOver: boolean;
}

/** What its clients were told in the end, if they were. */
export function finalAnswer({ operations }: KeyHistory): (Told & { kind: 'final' }) | undefined {
  for (const { told } of operations) if (told.kind === 'final') return told;
  return undefined;
}

/** Everything that clients saw, key by key. One clock orders it: that of this process. */
export class Journal {
  readonly keys = new Map<string, KeyHistory>();
  readonly counts = new Map<string, number>();
  requests = 0;
  private clock = 0;

  open(errand: Errand): KeyHistory {
    const history: KeyHistory = { errand, operations: [], unexpected: [], isOver: false };
    this.keys.set(errand.key, history);
    return history;
  }

  /** Sends a request and notes what came of it. */
  async note(history: KeyHistory, send: () => Promise<Received>): Promise<Received | undefined> {
    this.requests += 1;
    const operation: Operation = {
      invoked: ++this.clock,
      returned: NEVER,
      told: { kind: 'nothing' },
    };
    history.operations.push(operation);
    // Whatever goes wrong on the way to an answer is no answer.
    const received = await send().catch(() => undefined);
    const told = received ? read(received) : ({ kind: 'nothing' } as const);
    const name = told.kind === 'final' && told.replayed ? 'replay' : told.kind;
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
    if (told.kind === 'unexpected') history.unexpected.push(told.answer);
    else if (told.kind !== 'nothing') {
      // A worker goes on: for a client this is the same as "in progress".
      operation.told = told.kind === 'accepted' ? { kind: 'in_progress' } : told;
      operation.returned = ++this.clock;
    }
    return received;
  }
}

function read({
  status,
  headers,
  text,
}: Received): Told | { kind: 'accepted' } | { kind: 'unexpected'; answer: string } {
  const unexpected = { kind: 'unexpected', answer: `${status} ${text}` } as const;
  if (headers.has('idempotency-key-expires')) {
    if (status !== 201 && status !== 402) return unexpected;
    return {
      kind: 'final',
      status,
      bytes: createHash('sha256')
        .update(`${headers.get('content-type')}\n${text}`)
        .digest('hex'),
      replayed: headers.get('idempotent-replayed') === 'true',
    };
  }
  if (status === 202) return { kind: 'accepted' };
  // Nothing is known: it may have been refused, or done and not recorded.
  if (status === 503) return { kind: 'nothing' };
  if (status >= 500) return { kind: 'failed' };
  if (status !== 409) return unexpected;
  switch ((JSON.parse(text) as { code: string }).code) {
    case 'in_progress':
    case 'given_up':
      return { kind: 'in_progress' };
    case 'outcome_unknown':
      return { kind: 'unknown' };
    case 'lease_lost':
      return { kind: 'lease_lost' };
    default:
      return unexpected;
  }
}
