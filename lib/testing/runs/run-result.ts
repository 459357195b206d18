import type { KitAnswer } from '../crash-safety.report.js';
import type { Change } from '../world/changes.js';
import type { Disturbance } from './disturbance.js';
import type { RedeliveryResult } from './redelivery.js';
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
  redelivered: RedeliveryResult | undefined;
  duration: number;
}
