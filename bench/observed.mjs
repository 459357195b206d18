import { beside } from './beside.mjs';
import { keptOf } from './measures.mjs';

/**
 * What events, metrics and traces cost: the library while nobody observes it, with
 * metrics, and with traces as well, beside a build that has no events at all.
 *
 * @param {string[]} [only] the measures
 */
export function observed(only = ['fresh', 'replay', 'foreigns']) {
  return beside({
    base: 'eventless',
    others: {
      ours: 'nobody observes',
      metered: 'metrics',
      traced: 'metrics and traces',
    },
    kinds: keptOf(only),
    title: 'The library ÷ the same without its events and spans',
  });
}
