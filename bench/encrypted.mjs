import { beside } from './beside.mjs';
import { keptOf } from './measures.mjs';

/**
 * What the option `encryption` costs: the library with it, beside the library without
 * it. All requests are of one scope.
 *
 * @param {string[]} [only] the measures
 */
export function encrypted(only = ['fresh', 'replay', 'foreigns']) {
  return beside({
    base: 'ours',
    others: { encrypted: '' },
    kinds: keptOf(only),
    title: 'The library with encryption ÷ without it',
  });
}
