import { isModelled } from '../clients/errand.js';
import type { Journal, KeyHistory } from '../clients/journal.js';
import { check } from '../linearizability/checker.js';
import { Specification } from '../linearizability/specification.js';
import { sameBytes } from './replays.js';
import type { Violation } from './violation.js';

export interface CheckedHistories {
  violations: Violation[];
  linearizable: number;
  /** Too many orders to try: neither right nor wrong. */
  undecided: number;
}

/** Each key by itself: keys have nothing to do with each other. */
export function checkHistories(journal: Journal): CheckedHistories {
  const specifications = new Map<string, Specification>();
  const result: CheckedHistories = { violations: [], linearizable: 0, undecided: 0 };
  for (const history of journal.keys.values()) {
    const { errand, operations, unexpected } = history;
    const { key } = errand;
    for (const answer of unexpected) {
      result.violations.push({ what: 'an answer is unexpected', key, details: answer });
    }
    result.violations.push(...sameBytes(history));
    if (!isModelled(errand)) continue;
    const verdict = check(specificationFor(history), operations);
    if (verdict.kind === 'linearizable') result.linearizable += 1;
    if (verdict.kind === 'undecided') result.undecided += 1;
    if (verdict.kind === 'refused') {
      result.violations.push({
        what: 'no order of events explains a history',
        key,
        details: { explained: verdict.explained },
      });
    }
  }
  return result;

  function specificationFor({ errand }: KeyHistory): Specification {
    const { inDoubt } = errand.purchase;
    // The routes are phased: what died before its first phase runs again.
    const known =
      specifications.get(inDoubt) ?? new Specification({ inDoubt, onAbandoned: 'resume' });
    specifications.set(inDoubt, known);
    return known;
  }
}
