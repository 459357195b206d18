/** The header by which our transport sends the id of a message of the outbox. */
export const OUTBOX_ID_HEADER = 'Idempotency-Outbox-Id';

/** A message of the outbox, as `microserviceTransport` sends it. */
export interface OutboxEnvelope {
  id: string;
  topic: string;
  payload?: unknown;
  /** Another one in each delivery. */
  attempt: number;
  createdAt: unknown;
}

/** TCP and Redis have no headers, so there the payload has to tell. */
export function isOutboxEnvelope(payload: unknown): payload is OutboxEnvelope {
  if (typeof payload !== 'object' || payload === null) return false;
  const { id, topic, attempt, createdAt } = payload as Partial<OutboxEnvelope>;
  return (
    typeof id === 'string' &&
    typeof topic === 'string' &&
    Number.isSafeInteger(attempt) &&
    createdAt !== undefined
  );
}
