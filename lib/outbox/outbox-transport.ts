/** A message as handlers and transports see it. */
export interface DeliveredMessage<T = unknown> {
  /** The same in every delivery: use it as the effect key of what you call. */
  id: string;
  topic: string;
  /** What was added, after it went through JSON. */
  payload: T;
  orderingKey: string | undefined;
  /** 1 for the first delivery. */
  attempt: number;
  createdAt: Date;
  /**
   * Fires when the message does not belong to this delivery any more: its lease
   * is lost, it took longer than `maxRunTime`, or shutdown waits no longer.
   */
  signal: AbortSignal;
}

/** Where messages go. A delivery that throws is tried again. */
export interface OutboxTransport {
  /** What it can deliver; undefined for every topic. */
  readonly topics?: readonly string[] | undefined;
  deliver(message: DeliveredMessage): Promise<void>;
}
