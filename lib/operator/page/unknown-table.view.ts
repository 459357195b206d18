import { age, plural, span, time } from './format.js';
import { html, visible, type Html, type HtmlValue } from './html.js';
import type { Links } from './links.js';
import { keyLink, none, pill, routeOf, scopeOf } from './pieces.js';
import { table } from './table.view.js';
import type { UnknownKey } from './unknown-queries.js';

/**
 * If a question is overdue for this long, nobody asks it: no process has the
 * reconciler, or the job is off.
 */
const NOBODY_ASKS_AFTER = 5 * 60_000;

/** The order of the list, in words. */
export const UNKNOWN_ORDER =
  'left to people first, oldest first; then those that are asked about, next question first';

/** Unknown keys, on the overview and in the list of keys. */
export function unknownTable(keys: readonly UnknownKey[], links: Links): Html {
  const now = Date.now();
  return table<UnknownKey>(
    [
      { title: 'Key', cell: (key) => keyLink(key, links) },
      { title: 'Scope', cell: (key) => scopeOf(key.scope) },
      { title: 'Route', cell: routeOf },
      { title: 'In doubt', cell: callInDoubt },
      {
        title: 'Effect key valid until',
        label: 'Valid until',
        cell: (key) => validity(key, now),
      },
      { title: 'Age', cell: (key) => age(key.createdAt, now) },
      { title: 'Who finds out', cell: (key) => whoFindsOut(key, now) },
    ],
    keys,
  );
}

function callInDoubt({ inDoubt, lastErrorCode }: UnknownKey): HtmlValue {
  return inDoubt
    ? visible(inDoubt.phase)
    : html`<span class="quiet">no call on record (${lastErrorCode ?? '–'})</span>`;
}

function validity({ inDoubt, keyValidUntil }: UnknownKey, now: number): HtmlValue {
  if (!inDoubt) return none();
  if (keyValidUntil === null) return 'no limit';
  const left = keyValidUntil.getTime() - now;
  const urgent = left <= 0 ? pill('over', 'bad') : left < 3_600_000 ? pill('soon', 'warn') : '';
  return html`${time(keyValidUntil, now)} ${urgent}`;
}

function whoFindsOut({ reconcileAfter, reconcileAttempts }: UnknownKey, now: number): HtmlValue {
  if (reconcileAfter === null) return pill('people', 'bad');
  const due = reconcileAfter.getTime() - now;
  if (due < -NOBODY_ASKS_AFTER) {
    return html`${pill('people', 'bad')} <small>due for ${span(-due)}, and no process asks</small>`;
  }
  return html`${pill('reconciler', 'warn')}
    <small
      >asked ${plural(reconcileAttempts, 'time')},
      ${due > 0 ? `again in ${span(due)}` : 'due now'}</small
    >`;
}
