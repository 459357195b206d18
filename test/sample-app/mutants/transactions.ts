import type ts from 'typescript';
import { replace, type Mistake } from './mutant.js';
import { OUTSIDE_MANAGER, phaseWorkIn, usesOf, withOutsideManager } from './phase-work.js';

/** Each use of a phase's `tx`: an entity manager outside of the transaction instead. */
export function transactionMistakes(body: ts.Node, checker: ts.TypeChecker): Mistake[] {
  return phaseWorkIn(body, checker).flatMap(({ gets, work }) => {
    const [tx] = work.parameters;
    if (gets !== 'tx' || !tx) return [];
    return usesOf(tx, checker).map((use) => ({
      kind: 'tx not used',
      at: use.parent,
      edits: [replace(use, OUTSIDE_MANAGER), ...withOutsideManager(use)],
    }));
  });
}
