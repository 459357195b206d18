import { beside } from './beside.mjs';
import { keptOf } from './measures.mjs';

/**
 * This code beside the code of another commit.
 *
 * @param {string} ref
 * @param {string[]} [only] the measures; all of them without it
 */
export function against(ref, only) {
  return beside({
    base: 'before',
    others: { ours: '' },
    kinds: keptOf(only),
    title: `This code ÷ ${ref}`,
    ref,
  });
}
