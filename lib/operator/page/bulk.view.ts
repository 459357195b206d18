import { keyFields, NOTHING, phaseFields, reasonFields } from './decision-fields.view.js';
import { DECISION_FIELDS } from './decision.js';
import { number, plural } from './format.js';
import { html, visible, type Html } from './html.js';
import { FILTER_FIELDS, type FilterTexts } from './key-filter.js';
import type { Links } from './links.js';
import type { Visitor } from './page-access.js';
import type { Fields } from './page-request.js';
import { hidden, note } from './pieces.js';
import { BULK_LIMIT, type BulkResult, type DryRun } from './bulk.js';

const ACTIONS = [
  ['retry', 'Let the jobs try again'],
  ['resolve', 'Say what became of them'],
  ['expire', 'Expire them now (expire)'],
  ['evict', 'Remove them (evict)'],
  ['hold', 'Keep them, whatever their retention (hold)'],
  ['release_hold', 'Let their retention count again (release the hold)'],
] as const;

/** Under a list of keys: the same for all that match it. */
export function bulkForm(filter: FilterTexts, links: Links, { may }: Visitor): Html | false {
  const allowed = ACTIONS.filter(([action]) => may(action));
  if (allowed.length === 0) return false;
  return html`<section class="card">
    <details id="bulk">
      <summary>Do the same to all keys of this search</summary>
      <form method="post" action="${links.to('bulk')}">
        ${hidden(Object.entries(filter))}
        <fieldset>
          <legend>What is to be done?</legend>
          ${allowed.map(
            ([action, label]) =>
              html`<label class="choice"
                ><input type="radio" name="action" value="${action}" required /><span
                  >${label}</span
                ></label
              >`,
          )}
        </fieldset>
        ${
          may('resolve') &&
          html`<details>
            <summary>For "Say what became of them"</summary>
            ${phaseFields(NOTHING, true, 'bulk', false)}
            <p class="quiet">Or, for keys without a foreign call in doubt:</p>
            ${keyFields(NOTHING, 'bulk', false)}
          </details>`
        }
        ${reasonFields(NOTHING, may('resolve'), 'bulk')}
        <div class="row">
          <button name="step" value="preview">Dry run</button
          ><small
            >Counts what would happen to up to ${number(BULK_LIMIT)} keys, and changes
            nothing.</small
          >
        </div>
      </form>
    </details>
  </section>`;
}

export function dryRunView(dryRun: DryRun, form: Fields, links: Links): Html {
  const { possible, refused, more, items, sentences, warnings } = dryRun;
  const back = backTo(form, links);
  return html`<h1>Dry run</h1>
    <section class="card">
      <h2>${plural(possible, 'key')} would be changed</h2>
      <p>
        Nothing has been changed yet.
        ${more && `These are the first keys of the search; there are more, for the next round.`}
      </p>
      ${counts(refused)}
      ${
        sentences.length > 0 &&
        html`<ul>
          ${sentences.map(([sentence, count]) => html`<li>${visible(sentence)} <small>${plural(count, 'key')}</small></li>`)}
        </ul>`
      }
      ${warnings.map((warning) => note('warn', visible(warning)))}
      ${
        possible > 0 &&
        html`<form method="post" action="${links.to('bulk')}">
          ${roundTrip(form)}${hidden([['items', items]])}
          <div class="row">
            <button class="danger" name="step" value="do">
              Do it to ${plural(possible, 'key')}</button
            ><a class="button plain" href="${back}">Back</a>
          </div>
          <small
            >Each key is checked and authorised by itself. Those that have changed meanwhile are
            left alone.</small
          >
        </form>`
      }
      ${possible === 0 && html`<p><a class="button plain" href="${back}">Back</a></p>`}
    </section>`;
}

export function bulkResultView(result: BulkResult, form: Fields, links: Links): Html {
  return html`<h1>${plural(result.changed, 'key')} changed</h1>
    <section class="card">
      ${note(result.changed > 0 ? 'good' : '', `${plural(result.changed, 'key was', 'keys were')} changed, ${number(result.asked - result.changed)} left alone.`)}
      ${counts(result.refused)}
      <div class="row">
        <form method="post" action="${links.to('bulk')}">
          ${roundTrip(form)}<button name="step" value="preview">
            Another dry run, for the rest
          </button>
        </form>
        <a class="button plain" href="${backTo(form, links)}">Back to the list</a>
      </div>
    </section>`;
}

function counts(refused: readonly [string, number][]): Html | false {
  return (
    refused.length > 0 &&
    html`<h3>Left alone</h3>
      <table>
        <tbody>
          ${refused.map(
            ([why, count]) =>
              html`<tr>
                <td>${visible(why)}</td>
                <td class="num">${number(count)}</td>
              </tr>`,
          )}
        </tbody>
      </table>`
  );
}

function roundTrip(form: Fields): Html[] {
  return hidden([...FILTER_FIELDS, ...DECISION_FIELDS].map((name) => [name, form.text(name)]));
}

function backTo(form: Fields, links: Links): string {
  return links.to('keys', Object.fromEntries(FILTER_FIELDS.map((name) => [name, form.text(name)])));
}
