/** How an event names a key: enough to find it, and nothing that a client sent. */
export interface OfKey {
  /** The key's row. Undefined where no row was reserved or read. */
  id?: string | undefined;
  /** Whose key it is, as `describeScope` says: a short hash by default. */
  scope: string;
  /** A short hash of scope, endpoint and key: the same for each request of the key, in every process. */
  key: string;
}

/** Controller and method, or the operation's name where a worker runs it. */
export interface OfRoute {
  route: string;
}

export interface OfAttempt extends OfKey, OfRoute {
  id: string;
  attempt: number;
}

export interface OfPhase extends Partial<OfAttempt> {
  phase: string;
  kind: string;
}

export interface OfMessage {
  id: string;
  topic: string;
  /** Which delivery of the message it was. */
  attempt: number;
}

/** How a request ended, as its client sees it. */
export type RequestOutcome =
  | AttemptOutcome
  | 'replayed'
  | 'accepted'
  | 'refused'
  | /** An error of the application ended it before the handler began. */ 'failed';

/** The recorded outcome of an attempt. */
export type AttemptOutcome =
  | 'completed'
  | 'failed_retryable'
  | 'performed'
  | 'unknown'
  /** The operation was left to a worker. */
  | 'pending'
  /** The handler never began, so the key is free again. */
  | 'given_back';

/** How a phase of one attempt ended. `recalled`: an earlier attempt had recorded its end. */
export type PhaseOutcome =
  'finished' | 'recalled' | 'rejected' | 'withdrawn' | 'in_doubt' | 'not_recorded' | 'failed';

/**
 * Every event, with its members. Durations are in milliseconds. No event contains
 * a body, a result, a payload, a client's key or a scope.
 */
export interface IdempotencyEvents {
  /** A request took a new key: the first attempt begins. */
  reserved: OfAttempt;
  /** An attempt took a key whose last attempt ended or died. */
  taken_over: OfAttempt & { recoveryPoint: string; died: boolean; byWorker: boolean };
  /** A request got the stored answer. */
  replayed: OfKey & OfRoute;
  /** A request got 202: a worker, or another attempt, is running the key. */
  accepted: OfKey & OfRoute;
  /** The library refused a request. Scope and key are missing if they were not known yet. */
  refused: Partial<OfKey> & OfRoute & { code: string };
  /** A request with a key was answered, whatever the answer. */
  answered: OfRoute & { outcome: RequestOutcome; code: string | undefined; duration: number };
  /** The outcome of an attempt was recorded. */
  recorded: OfAttempt & { outcome: AttemptOutcome };
  /** An attempt lost its lease: what it does from now on is not recorded. */
  lease_lost: OfAttempt & { recoveryPoint: string };
  /** A key's outcome is unknown from now on. `why` is its `last_error_code`. */
  became_unknown: OfKey & Partial<OfRoute> & { why: string };
  /** A phase begins. `earlier` is the state in which an earlier attempt left it. */
  phase_started: OfPhase & { earlier: string | undefined };
  /** A phase finished, now or in an earlier attempt. */
  phase_finished: OfPhase & { outcome: PhaseOutcome; duration: number };
  /** A phase ended in any other way. */
  phase_failed: OfPhase & { outcome: PhaseOutcome; duration: number; error: string };
  /** A foreign call was begun, and its outcome is not known. */
  phase_in_doubt: OfPhase & { repeatable: boolean };
  /** Somebody resolved something in doubt. `who` is the name in the audit. */
  resolved: OfKey & { action: string; who: string; phase: string | undefined; status: string };
  /** An operator decided something else about a key: `retry`, `evict`, `expire`, `hold` or `release_hold`. */
  decided: OfKey & { action: string; who: string };
  /** An operator erased a scope: nothing that was sealed for it can be read any more. */
  erased: { scope: string; who: string; keys: number };
  /** A reconciler was asked and did not know the outcome. `leftToPeople`: it is not asked again. */
  reconciliation_failed: OfKey & { phase: string | undefined; leftToPeople: boolean };
  /** The sweeper found a dead attempt. `why`: the reason why its outcome is unknown. */
  swept: OfKey & { attempt: number; why: string | undefined };
  /** The reaper removed, closed or buried keys past their retention. */
  reaped: { outcome: string; ids: readonly string[] };
  /** A message was delivered. */
  outbox_delivered: OfMessage & { duration: number };
  /** A delivery failed, and the message will be delivered again. */
  outbox_failed: OfMessage & { duration: number; error: string };
  /** The last delivery of a message failed: it is a dead letter. */
  outbox_dead: OfMessage & { duration: number; error: string };
  /** Somebody requeued a dead letter. `who` is the name in the audit. */
  outbox_requeued: Omit<OfMessage, 'attempt'> & { who: string };
  /** A statement failed or got no reply. `code` is the SQLSTATE, or why it was not sent. */
  store_unavailable: { code: string };
  /** The database has failed so often that requests are refused without asking it. */
  breaker_opened: { failures: number; failingFor: number };
  /** The database answered again, after `duration`. */
  breaker_closed: { duration: number };
  /** A new key was refused, or a duplicate was not let wait, because of this limit of its scope. */
  limited: OfKey & OfRoute & { limit: string };
  /** A job looked for work. */
  job_ran: { job: string; rows: number; duration: number };
  /** A job failed, for the `failures`th time since its last success. */
  job_failed: { job: string; failures: number; duration: number; error: string };
  /** Calls of several requests were sent as one statement. */
  batch_sent: { statements: string; size: number };
  /** A statement waited for a connection of the pool. */
  pool_waited: { duration: number };
}

export type EventName = keyof IdempotencyEvents;

/** The same names, for use at run time. */
export const EVENT_NAMES = Object.keys({
  reserved: true,
  taken_over: true,
  replayed: true,
  accepted: true,
  refused: true,
  answered: true,
  recorded: true,
  lease_lost: true,
  became_unknown: true,
  phase_started: true,
  phase_finished: true,
  phase_failed: true,
  phase_in_doubt: true,
  resolved: true,
  decided: true,
  erased: true,
  reconciliation_failed: true,
  swept: true,
  reaped: true,
  outbox_delivered: true,
  outbox_failed: true,
  outbox_dead: true,
  outbox_requeued: true,
  store_unavailable: true,
  breaker_opened: true,
  breaker_closed: true,
  limited: true,
  job_ran: true,
  job_failed: true,
  batch_sent: true,
  pool_waited: true,
} satisfies Record<EventName, true>) as EventName[];
