/** A place in the course of a request where something can happen to it. */
export interface Spot {
  /** A step of the library, a statement of the handler, or a call of it. */
  kind: 'step' | 'statement' | 'call';
  /** Unique in a run: `charge_created:after_call`, `order_created › before INSERT INTO "orders"`. */
  name: string;
  /** The phase that it is part of. */
  phase: string | undefined;
  /** In a transaction, which a crash rolls back. */
  inTransaction: boolean;
}

/** What a run does to a request. */
export type Disturbance =
  | { kind: 'none' }
  /** Each step takes its time, so that what nobody awaits is seen to be late. */
  | { kind: 'slow' }
  /** The process dies. `next`: who goes on, and when. */
  | { kind: 'crash'; at: Spot; next: 'client' | 'worker' | 'client a day later' }
  /** A call takes effect, and the connection breaks before its answer. */
  | { kind: 'lost'; at: Spot }
  /** A call takes effect, and an error comes back. */
  | { kind: 'failed'; at: Spot }
  /** The first attempt stands still, loses its lease, and goes on after a second one. */
  | { kind: 'zombie'; at: Spot }
  /** Each message of the outbox is delivered, and delivered again. */
  | { kind: 'redelivery' };

/** For tables and messages. */
export function nameOf(disturbance: Disturbance): string {
  switch (disturbance.kind) {
    case 'none':
      return 'undisturbed';
    case 'slow':
      return 'undisturbed, but slow';
    case 'crash': {
      const { at, next } = disturbance;
      const after = {
        client: '',
        worker: ', a worker goes on',
        'client a day later': ', retried 25 h later',
      };
      return `crash at ${at.name}${after[next]}`;
    }
    case 'lost':
      return `answer lost at ${disturbance.at.name}`;
    case 'failed':
      return `502 instead of the answer at ${disturbance.at.name}`;
    case 'zombie':
      return `overtaken at ${disturbance.at.name}`;
    case 'redelivery':
      return 'messages delivered twice';
  }
}
