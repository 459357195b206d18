import type { KitAnswer } from '../crash-safety.report.js';
import type { Change } from '../world/changes.js';
import type { OutgoingCall } from '../world/outgoing-call.js';
import type { Disturbance } from './disturbance.js';
import type { RunRecord } from './run-record.js';

/** One run, when it is over: what was seen, before anybody judges it. */
export interface RunResult {
  disturbance: Disturbance;
  record: RunRecord;
  outcome: 'final' | 'unknown' | 'stuck';
  /** The last one. */
  answer: KitAnswer | undefined;
  /** What the client got for each request; undefined where its connection broke. */
  answers: (KitAnswer | undefined)[];
  /** The answer again, to the same key. */
  replay: KitAnswer | undefined;
  /** A request got no answer in time. */
  hung: boolean;
  /** The retry waited for something that the dead attempt held in memory. */
  unwound: boolean;
  /** The key's operation can be completed by a worker. */
  resumable: boolean;
  /** Nobody reserved the key: the route is not idempotent, or refused the request before. */
  unseen: boolean;
  changes: Change[];
  /** By the name that `observe` gives it: how it changed. */
  observed: Record<string, number>;
  /** What became of its messages, in a run that is about them. */
  redelivered: Redelivered | undefined;
  duration: number;
}

/** What the second delivery of each message did. */
export interface Redelivered {
  /** The ids of the messages. */
  messages: string[];
  changes: Change[];
  observed: Record<string, number>;
  /** The calls of the first delivery, and those of the second one. */
  calls: { first: OutgoingCall[]; second: OutgoingCall[] };
  /** Calls whose answer got lost in a third delivery, which counted as a success all the same. */
  unheard: { topic: string; call: OutgoingCall }[];
}
