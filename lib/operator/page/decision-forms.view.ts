import type { KeyReport } from '../key-report.js';
import {
  keyFields,
  NOTHING,
  phaseFields,
  reasonFields,
  type Typed,
} from './decision-fields.view.js';
import { SIMPLE_ACTIONS, type SimpleAction } from './decision.js';
import { html, visible, type Html, type HtmlValue } from './html.js';
import type { Links } from './links.js';
import type { Visitor } from './page-access.js';
import type { OperatorAction } from './page.options.js';
import { hidden } from './pieces.js';
import { predict } from './prediction.js';

/** Everything that can be done to this key by this person, as it is now. */
export function decisionForms(
  key: KeyReport,
  links: Links,
  visitor: Visitor,
  namesPeople: boolean,
  typed: Typed = NOTHING,
): Html {
  const shown = { key, links, typed };
  const forms = [
    ...resolutionForms(shown, visitor),
    ...SIMPLE_ACTIONS.map((name) => {
      const { possible } = predict(key, { action: name }, undefined);
      return possible && visitor.may(name) && section(shown, name, undefined, SIMPLE[name], '');
    }),
  ].filter((each) => each !== false);
  return html`<section class="card" aria-labelledby="actions-title">
    <h2 id="actions-title">Decide</h2>
    ${forms.length === 0 && html`<p class="quiet">${whyNothing(key, visitor, namesPeople)}</p>`}
    ${forms}
  </section>`;
}

function whyNothing(key: KeyReport, { may }: Visitor, namesPeople: boolean): string {
  if (!namesPeople) {
    return 'This page is read-only: it has guards, but no operatorPage.access that says who decides, and the audit needs a name.';
  }
  if (!may('resolve') && !SIMPLE_ACTIONS.some((action) => may(action))) {
    return 'You may read this, but not change it.';
  }
  return key.status === 'in_progress'
    ? 'An attempt runs this key now, or died a moment ago. There is nothing to decide until the attempt has ended.'
    : 'There is nothing that you can do to this key as it is now.';
}

/** A key and what was typed about it. */
interface ShownForms {
  key: KeyReport;
  links: Links;
  typed: Typed;
}

function resolutionForms(shown: ShownForms, visitor: Visitor): (Html | false)[] {
  const { key, typed } = shown;
  if (!visitor.may('resolve')) return [];
  if (key.status === 'unknown' && !key.inDoubt) {
    const fields = keyFields(typed, 'key', true);
    return [section(shown, 'resolve', undefined, 'Say what became of this request', fields, true)];
  }
  // Evidence may also concern a withdrawn call; only a call in doubt can be repeated.
  const resolution = { outcome: 'executed', result: undefined } as const;
  return key.phases.map(({ name, state, effectKey, keyValidUntil }) => {
    if (effectKey === null) return false;
    const target = { name, state, effectKey, keyValidUntil };
    if (!predict(key, { action: 'resolve', of: 'phase', resolution }, target).possible)
      return false;
    const inDoubt = state === 'intended';
    const title = html`Say what became of the call of phase ${visible(name)}`;
    const fields = phaseFields(typedFor(shown, effectKey), inDoubt, effectKey, true);
    return section(shown, 'resolve', effectKey, title, fields, inDoubt);
  });
}

const SIMPLE: Record<SimpleAction, string> = {
  retry: 'Let the jobs try again',
  expire: 'Expire it now (expire)',
  evict: 'Remove it, so that its next use is a new operation (evict)',
  hold: 'Keep it, whatever its retention (hold)',
  release_hold: 'Let its retention count again (release the hold)',
};

function section(
  shown: ShownForms,
  name: OperatorAction,
  effect: string | undefined,
  title: HtmlValue,
  fields: HtmlValue,
  open = false,
): Html {
  const { key, links, typed } = shown;
  const again = typed.text('action') === name && typed.text('effect') === effect;
  const of = effect ?? (name === 'resolve' ? 'key' : name);
  return html`<details class="action" id="decide-${of}" ${open || again ? html` open` : ''}>
    <summary>${title}</summary>
    <form method="post" action="${links.to('decide')}">
      ${hidden([
        ['id', key.id],
        ['seen_status', key.status],
        ['seen_attempt', String(key.attempt)],
        ['action', name],
        ['effect', effect],
      ])}
      ${fields} ${reasonFields(again ? typed : NOTHING, name === 'resolve', of)}
      <div class="row">
        <button name="step" value="preview">Preview</button><small>Nothing is changed yet.</small>
      </div>
    </form>
  </details>`;
}

function typedFor({ typed }: ShownForms, effect: string): Typed {
  return typed.text('effect') === effect ? typed : NOTHING;
}
