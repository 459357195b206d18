/**
 * All of it in milliseconds. Short, so that much can happen in little time, and not so
 * short that a busy machine does nothing but take keys over.
 */
export const TIMES = {
  /** The longest wait for the database. */
  storeTimeout: 2_500,
  /** Of keys and of messages. */
  lease: 3_000,
  /** How long the shop waits for the provider. */
  payment: 2_000,
  /** How long a slow provider takes: its answer comes too late. */
  slowPayment: 3_000,
  shutdown: 2_000,
  /** How long a stopped process stands still: another one has taken over by then. */
  stop: 6_000,
  /** How long a client waits that does not leave. */
  patience: 15_000,
  /**
   * How long brief keys are remembered once they are finished. Far longer than their clients
   * retry, because a request may stand still in a stopped process, and its statement once more.
   */
  retention: 20_000,
  /** For how long the clients of brief keys retry. */
  briefRetries: 5_000,
  /**
   * After the faults, something has to end within this time, until everything has. Pauses
   * between attempts, which grow to minutes, do not count: the soak lets them pass in the tables.
   */
  settling: 120_000,
};

/** The connections of one process. */
export const POOL = 6;
