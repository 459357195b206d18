import type { DeadLetter } from '../../outbox/outbox.js';
import { number, plural, time } from './format.js';
import { html, visible, type Html } from './html.js';
import type { Links } from './links.js';
import type { Visitor } from './page-access.js';
import { cell, hidden, note } from './pieces.js';
import type { ShownValues } from './shown-values.js';

/** As many as a person looks through. What is requeued makes room for the next ones. */
export const LETTERS_LIMIT = 200;

export interface Letters {
  letters: DeadLetter[];
  topic: string | undefined;
  /** Whether payloads are to be seen. */
  open: boolean;
}

export function lettersView(
  { letters, topic, open }: Letters,
  links: Links,
  visitor: Visitor,
  values: ShownValues,
): Html {
  const more = letters.length > LETTERS_LIMIT;
  const shown = letters.slice(0, LETTERS_LIMIT);
  const mayRequeue = visitor.may('requeue');
  return html`<h1>Dead letters</h1>
    <section class="card">
      <form class="filter" method="get" action="${links.to('letters')}">
        <div class="field">
          <label for="f-topic">Topic</label
          ><input id="f-topic" name="topic" value="${topic}" autocomplete="off" />
        </div>
        <div class="row">
          <button>Search</button>
        </div>
      </form>
    </section>
    <section class="card">
      <div class="head">
        <h2>${shown.length === 0 ? 'No dead letters' : plural(shown.length, 'dead letter')}</h2>
        <small>messages whose deliveries failed too often, those that died first first</small>
        <a
          class="button plain small"
          href="${links.to('letters', { topic, ...(!open && { values: 'shown' }) })}"
          >${open ? 'Hide' : 'Show'} payloads</a
        >
      </div>
      ${more && note('', `There are more than ${number(LETTERS_LIMIT)}; these died first.`)}
      ${
        shown.length > 0 &&
        html`<form method="post" action="${links.to('requeue')}">
          ${hidden([['topic', topic]])}
          <div class="wide">
            <table class="stack">
              <thead>
                <tr>
                  ${mayRequeue && html`<th><span class="quiet">Choose</span></th>`}
                  <th>Message</th>
                  <th>Topic</th>
                  <th class="num">Attempts</th>
                  <th>Last error</th>
                  <th>Died</th>
                </tr>
              </thead>
              <tbody>
                ${shown.map(
                  (letter, index) =>
                    html`<tr>
                      ${mayRequeue && cell('Choose', html`<input type="checkbox" name="item${index}" value="${letter.id}" aria-label="Message ${letter.id}" />`)}
                      ${cell('Message', html`<code>${visible(letter.id)}</code>${letter.orderingKey !== undefined && html`<span class="sub">ordering key ${visible(letter.orderingKey)}</span>`}${open && values.show(letter.payload, { kind: 'payload', who: visitor.who, topic: letter.topic })}`)}
                      ${cell('Topic', visible(letter.topic))}
                      ${cell('Attempts', letter.attempts, 'num')}
                      ${cell('Last error', visible(letter.lastError))}
                      ${cell('Died', time(letter.deadAt))}
                    </tr>`,
                )}
              </tbody>
            </table>
          </div>
          ${mayRequeue && html`<div class="row"><button name="which" value="chosen">Requeue the chosen ones</button><button class="plain" name="which" value="all">Dry run for all of these</button></div>`}
        </form>`
      }
    </section>`;
}

/** Before all of them go: how many, of which topics. */
export function requeuePreview(
  letters: readonly DeadLetter[],
  topic: string | undefined,
  allowed: readonly DeadLetter[],
  links: Links,
): Html {
  const topics = new Map<string, number>();
  for (const { topic: name } of allowed) topics.set(name, (topics.get(name) ?? 0) + 1);
  return html`<h1>Dry run</h1>
    <section class="card">
      <h2>${plural(allowed.length, 'message')} would be requeued</h2>
      <p>
        Each gets another round of deliveries, under the same id, at the end of its ordering key.
        Nothing has been changed yet.
      </p>
      <table>
        <tbody>
          ${[...topics].map(
            ([name, count]) =>
              html`<tr>
                <td>${visible(name)}</td>
                <td class="num">${number(count)}</td>
              </tr>`,
          )}
        </tbody>
      </table>
      ${letters.length > allowed.length && html`<p class="quiet">${number(letters.length - allowed.length)} are left out: you may not requeue them.</p>`}
      <form method="post" action="${links.to('requeue')}">
        ${hidden([['topic', topic], ...allowed.map((letter, index) => [`item${index}`, letter.id] as const)])}
        <div class="row">
          <button name="which" value="chosen">Requeue ${plural(allowed.length, 'message')}</button
          ><a class="button plain" href="${links.to('letters', { topic })}">Back</a>
        </div>
      </form>
    </section>`;
}
