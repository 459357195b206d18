/** What to do about each kind of problem. docs/guides/crash-safety.md has a section for each of them. */
export const CURES = {
  not_idempotent:
    'Put @Idempotent() on the route, and send the request to it with the method that it covers.',
  not_a_success:
    'Make the request one that succeeds: its path, body, credentials and the data that it needs. If this is the answer to look at, say so: expectStatus.',
  not_as_expected:
    'The undisturbed run itself does not do what `expected` says. Correct one of them first.',
  hangs:
    'Find out what the request waits for. What a dead process held in memory is free after a real crash; a lock in the database or at another system has to end by itself.',
  stuck:
    'The key can neither be finished nor given up. Look at the answers: the same error comes again in each attempt.',
  retry_failed:
    'A retry runs the handler from its top, with the results of the finished phases. Take what you need from the value that a phase returns, not from a variable that its callback has set.',
  unknown_outcome:
    "Say phased: true on the route if all it does happens in phases; and give a foreign phase inDoubt: 'repeat' (the other system honours the effect key) or 'reconcile'.",
  answer_differs:
    'Make the answer of what the phases return. What is looked up, counted or made anew outside of them may be another one after a crash.',
  answer_not_repeatable:
    'Make the value (a time, a random id) inside a phase and return it from there: a finished phase returns the same value to each attempt. If it may differ, name it in ignore.json.',
  replay_differs:
    'Leave the answer alone once it is recorded: middleware must not change its bytes.',
  rows_differ:
    'Write in atomicPhase.local(), through its tx, under a name that is the same in each attempt.',
  messages_differ: 'Add the message in a phase, through its tx: outbox.add(tx, …).',
  phases_differ:
    'Use the same phases, under the same names, in the same order in each attempt. What decides between them has to come from the request or from an earlier phase.',
  phase_misused: 'The message says what to change.',
  phase_not_awaited: 'Await the phase.',
  statement_not_awaited:
    'Await the statement: its error would reach nobody, and whether it is part of the transaction is left to chance.',
  call_not_awaited:
    'Await the call, and let its error through: else the phase, or the delivery of a message, is recorded as finished before anybody knows what became of the call.',
  unhandled_rejection:
    'Await the promise. In production, a rejection that nobody handles ends the process.',
  error_swallowed:
    'Let the error of a phase end the request: a retry resumes there. Catch only what the other system has refused for good.',
  doubt_taken_for_no:
    'Throw an HttpException below 500 only where the other system has answered with a refusal, and let notExecuted be true only where nothing can have been sent, such as a refused connection. Let a time-out, a broken connection or its 5xx through as they are.',
  write_outside_phase:
    'Move the write into atomicPhase.local() and use its tx. If it may be missing or be there twice, wrap it in atomicPhase.unprotected().',
  write_past_transaction:
    'Use the tx that the phase hands to your callback: tx.getRepository(Entity), tx.query(…).',
  write_in_call:
    'Write in `record`, which shares the transaction of the outcome, or in a local phase before.',
  call_outside_phase:
    'Make the call in atomicPhase.foreign(). If it changes nothing over there, wrap it in atomicPhase.unprotected().',
  call_in_transaction: 'Move the call out of the transaction, into the `call` of a foreign phase.',
  second_call_in_phase: 'Give each call its own foreign phase.',
  effect_key_not_sent:
    "Pass effect.idempotencyKey to the other system. If it knows no keys, use inDoubt: 'stop' or 'reconcile'.",
  request_differs:
    'Send the request that was stored with the first intent: build it in `request` and use effect.request in the call. Other systems refuse a key that comes with another body.',
  calls_differ:
    'Make each call in a foreign phase of its own, of nothing but the request and what phases return.',
  effect_key_may_be_forgotten:
    "Say how long the other system remembers the key: keyValidFor: '24h'. After that the library asks instead of calling again.",
  work_after_answer:
    'Await everything that the handler starts. For work that may come later, add a message to the outbox in a phase.',
  observed_differs:
    'Something that `observe` counts happened twice, or not at all. Pass effect.idempotencyKey on, and make each effect a phase.',
  delivery_failed:
    'Make the handler of the message work in the test: what it needs has to be reachable, or replaced by something that is.',
  delivery_differs:
    'A message may be delivered twice. Pass its id to the other system as the key, or note in your own transaction that it was handled.',
  after_each_failed: 'Your own check failed; its message says why.',
  not_reached:
    'The run did not come to this point again: its way depends on something that changes.',
} as const;

export type ProblemCode = keyof typeof CURES;

/** The section of the guide about a code. */
export function docsOf(code: ProblemCode): string {
  return `docs/guides/crash-safety.md#${code}`;
}
