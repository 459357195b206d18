/** A message as handlers and transports see it. */
export interface DeliveredMessage<T = unknown> {
  /** The same in every delivery: use it as the effect key of what you call. */
  id: string;
  topic: string;
  /** The payload that was added, after JSON. */
  payload: T;
  orderingKey: string | undefined;
  /** 1 for the first delivery. */
  attempt: number;
  createdAt: Date;
  /**
   * Aborts when the delivery has lost the message: its lease is lost, it took
   * longer than `maxRunTime`, or the shutdown does not wait any longer.
   */
  signal: AbortSignal;
}

/** Where messages go. A delivery that throws is tried again. */
export interface OutboxTransport {
  /** The topics that it can deliver; undefined for every topic. */
  readonly topics?: readonly string[] | undefined;
  deliver(message: DeliveredMessage): Promise<void>;
}
