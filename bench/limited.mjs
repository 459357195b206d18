import { beside } from './beside.mjs';
import { keptOf } from './measures.mjs';

/**
 * What limits cost that nobody reaches: those that need no statement, and those for which
 * keys are counted every ten seconds, beside the library without limits.
 *
 * @param {string[]} [only] the measures
 */
export function limited(only = ['fresh', 'replay']) {
  return beside({
    base: 'ours',
    others: { limited: 'a rate', counted: 'all limits' },
    kinds: keptOf(only),
    title: 'The library with limits ÷ without',
  });
}
