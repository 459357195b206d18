import type { DeadLetter } from '../../outbox/outbox.js';
import { NOTHING, reasonFields } from './decision-fields.view.js';
import { number, plural, time } from './format.js';
import { html, visible, type Html } from './html.js';
import type { Links } from './links.js';
import type { Visitor } from './page-access.js';
import { hidden, note } from './pieces.js';
import type { ShownValues } from './shown-values.js';
import { table, type Column } from './table.view.js';

/** As many as a person reads. Requeued letters make room for the next ones. */
export const LETTERS_LIMIT = 200;

export interface Letters {
  letters: DeadLetter[];
  topic: string | undefined;
  /** Whether payloads are shown. */
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
  const payloadOf = ({ payload, topic: of }: DeadLetter) =>
    open && values.show(payload, { kind: 'payload', who: visitor.who, topic: of });
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
        <small>messages whose deliveries failed too often, in the order they were given up</small>
        <a
          class="button plain small"
          href="${links.to('letters', { topic, ...(!open && { values: 'shown' }) })}"
          >${open ? 'Hide' : 'Show'} payloads</a
        >
      </div>
      ${more && note('', `There are more than ${number(LETTERS_LIMIT)}; these were given up first.`)}
      ${
        shown.length > 0 &&
        html`<form method="post" action="${links.to('requeue')}">
          ${hidden([['topic', topic]])} ${table(columns(links, mayRequeue, payloadOf), shown)}
          ${mayRequeue && requeueFields()}
        </form>`
      }
    </section>`;
}

function columns(
  links: Links,
  mayRequeue: boolean,
  payloadOf: (letter: DeadLetter) => Html | false,
): Column<DeadLetter>[] {
  const choose: Column<DeadLetter> = {
    title: 'Choose',
    cell: ({ id }, index) =>
      html`<input type="checkbox" name="item${index}" value="${id}" aria-label="Message ${id}" />`,
  };
  return [
    ...(mayRequeue ? [choose] : []),
    {
      title: 'Message',
      cell: (letter) =>
        html`<a href="${links.to('letter', { scope: letter.scope, id: letter.id })}"
            ><code>${visible(letter.id)}</code></a
          >${letter.orderingKey !== undefined && html`<span class="sub">ordering key ${visible(letter.orderingKey)}</span>`}${payloadOf(letter)}`,
    },
    { title: 'Topic', cell: ({ topic }) => visible(topic) },
    { title: 'Attempts', kind: 'num', cell: ({ attempts }) => attempts },
    { title: 'Last error', cell: ({ lastError }) => visible(lastError) },
    { title: 'Given up', cell: ({ deadAt }) => time(deadAt) },
  ];
}

function requeueFields(): Html {
  return html`${reasonFields(NOTHING, false, 'letters')}
    <div class="row">
      <button name="which" value="chosen">Requeue the chosen ones</button
      ><button class="plain" name="which" value="all">Dry run for all of these</button>
    </div>`;
}

/** A dry run for all letters of the list: how many would be requeued, of which topics. */
export function requeuePreview(
  letters: readonly DeadLetter[],
  allowed: readonly DeadLetter[],
  { topic, reason }: { topic: string | undefined; reason: string },
  links: Links,
): Html {
  const topics = new Map<string, number>();
  for (const { topic: name } of allowed) topics.set(name, (topics.get(name) ?? 0) + 1);
  const items = allowed.map(({ id }, index) => [`item${index}`, id] as const);
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
        ${hidden([['topic', topic], ['reason', reason], ...items])}
        <div class="row">
          <button name="which" value="chosen">Requeue ${plural(allowed.length, 'message')}</button
          ><a class="button plain" href="${links.to('letters', { topic })}">Back</a>
        </div>
      </form>
    </section>`;
}
