import { BEHAVIOURS } from '../../../sample-app/payment-provider/behaviour.js';
import type { Random } from '../random.js';

export const FAULT_KINDS = [
  /** SIGKILL, and a new process some time later. */
  'kill a server',
  'kill the worker',
  /** SIGSTOP beyond the lease, then SIGCONT. */
  'stop a server',
  'stop the worker',
  'restart the database, immediate',
  'restart the database, fast',
  'cut connections',
  'refuse connections',
  'lose replies',
  'delay statements',
  'kill the provider',
  'disturb payments',
  'disturb receipts',
  /** SIGTERM, and another version of the handler. */
  'deploy',
  'step a clock',
  /** A DELETE on the table of keys, as of somebody who cleans up: phases are left behind. */
  'remove keys by hand',
] as const;

export type FaultKind = (typeof FAULT_KINDS)[number];

export interface PlannedFault {
  /** It begins when so many keys have been taken up. */
  at: number;
  kind: FaultKind;
  /** Which process; a number that is taken modulo those that there are. */
  target: number;
  /** How long, how many or how far, from 0 to 1. */
  measure: number;
  /** For the provider. */
  behaviours: (typeof BEHAVIOURS)[number][];
}

/** What goes wrong with a payment. `hold_before` arrives when the caller has long given up. */
const PAYMENT_FAULTS = [
  'normal',
  'drop_before',
  'drop_after',
  'drop_after',
  'error_after',
  'slow',
  'hold_before',
] as const;
const RECEIPT_FAULTS = ['normal', 'drop_before', 'drop_after', 'error_after'] as const;

/** What happens to one request only comes more often than what happens to a whole process. */
const OFTEN: readonly FaultKind[] = ['disturb payments', 'disturb payments', 'disturb receipts'];

/** So many keys between two faults. */
const PAUSE = { least: 3, most: 10 };

/** All faults of a run, from its seed: every kind in each round, in another order. */
export function* planFaults(random: Random): Generator<PlannedFault, never> {
  let at = 0;
  for (;;) {
    for (const kind of random.shuffle([...FAULT_KINDS, ...OFTEN])) {
      at += random.integer(PAUSE.least, PAUSE.most);
      const faults = kind === 'disturb receipts' ? RECEIPT_FAULTS : PAYMENT_FAULTS;
      yield {
        at,
        kind,
        target: random.integer(0, 999),
        measure: random.next(),
        behaviours: Array.from({ length: random.integer(5, 15) }, () => random.pick(faults)),
      };
    }
  }
}
