import { KEY_STATUSES } from '../../schema/key-status.js';
import type { KeySummary } from '../key-report.js';
import { age, plural } from './format.js';
import { html, visible, type Html } from './html.js';
import type { FilterTexts } from './key-filter.js';
import type { KeyList } from './key-lists.js';
import type { Links } from './links.js';
import { keyLink, note, pill, routeOf, scopeOf, statusPill } from './pieces.js';
import { table } from './table.view.js';
import { UNKNOWN_ORDER, unknownTable } from './unknown-table.view.js';
import { bulkForm } from './bulk.view.js';
import type { Visitor } from './page-access.js';

export interface Keys {
  filter: FilterTexts;
  /** Undefined if the filter is invalid. */
  list: KeyList | undefined;
  fault: string | undefined;
  /** Whether it is not the first page. */
  further: boolean;
}

export function keysView(keys: Keys, links: Links, visitor: Visitor): Html {
  const { filter, list, fault } = keys;
  return html`<h1>Keys</h1>
    <section class="card">
      <h2>Search</h2>
      ${filterForm(filter, links)}
    </section>
    ${fault !== undefined && note('bad', visible(fault))}
    ${list && results(keys, list, links, visitor)}`;
}

function filterForm(filter: FilterTexts, links: Links): Html {
  const field = (name: keyof FilterTexts, label: string, hint = '') =>
    html`<div class="field">
      <label for="f-${name}">${label}</label
      ><input
        id="f-${name}"
        name="${name}"
        value="${filter[name]}"
        placeholder="${hint}"
        autocomplete="off"
        spellcheck="false"
      />
    </div>`;
  return html`<form class="filter" method="get" action="${links.to('keys')}">
    <div class="field">
      <label for="f-status">Status</label
      ><select id="f-status" name="status">
        <option value="">any</option>
        ${KEY_STATUSES.map(
          (status) =>
            html`<option value="${status}" ${status === filter.status ? html` selected` : ''}>
              ${status}
            </option>`,
        )}
      </select>
    </div>
    ${field('key', 'Key')} ${field('scope', 'Scope')} ${field('effect', 'Effect key', 'a UUID')}
    ${field('id', 'Id')} ${field('route', 'Route', '/rides/:id/tips')}
    ${field('older', 'Older than', '30m, 12h, 7d')}
    ${field('younger', 'Younger than', '30m, 12h, 7d')}
    <div class="field">
      <label for="f-held">Held</label
      ><select id="f-held" name="held">
        <option value="">any</option>
        ${['yes', 'no'].map((held) => html`<option value="${held}" ${held === filter.held ? html` selected` : ''}>${held}</option>`)}
      </select>
    </div>
    <div class="row">
      <button>Search</button><a class="button plain" href="${links.to('keys')}">Clear</a>
    </div>
  </form>`;
}

function results({ filter, further }: Keys, list: KeyList, links: Links, visitor: Visitor): Html {
  const { keys, unknown, next, unfinished } = list;
  const nextPage = next !== undefined && links.to('keys', { ...filter, after: next });
  return html`<section class="card" aria-label="Results">
      <div class="head">
        <h2>
          ${keys.length === 0 ? 'No keys' : `${plural(keys.length, 'key')}${nextPage ? ' on this page' : ''}`}
        </h2>
        <small>${unknown ? UNKNOWN_ORDER : 'oldest first'}</small>
      </div>
      ${keys.length > 0 && (unknown ? unknownTable(unknown, links) : keysTable(list, links))}
      ${unfinished && note('', 'The search stopped after 200,000 keys, because no index helps it. Continue, or narrow it: by scope and key, effect key or id it is fast.')}
      <div class="row">
        ${further && html`<a class="button plain" href="${links.to('keys', { ...filter })}">First page</a>`}
        ${nextPage && html`<a class="button plain" rel="next" href="${nextPage}">${unfinished ? 'Continue the search' : 'Next page'}</a>`}
      </div>
    </section>
    ${keys.length > 0 && bulkForm(filter, links, visitor)}`;
}

function keysTable({ keys }: KeyList, links: Links): Html {
  const now = Date.now();
  return table<KeySummary>(
    [
      { title: 'Key', cell: (key) => keyLink(key, links) },
      { title: 'Status', cell: statusOf },
      { title: 'Scope', cell: (key) => scopeOf(key.scope) },
      { title: 'Route', cell: routeOf },
      { title: 'Recovery point', cell: (key) => visible(key.recoveryPoint) },
      { title: 'Attempts', kind: 'num', cell: (key) => key.attempt },
      { title: 'Age', cell: (key) => age(key.createdAt, now) },
    ],
    keys,
  );
}

function statusOf({ status, heldAt, lastErrorCode }: KeySummary): Html {
  return html`${statusPill(status)}${heldAt !== null && html` ${pill('held')}`}${lastErrorCode !== null && html` <span class="sub">${visible(lastErrorCode)}</span>`}`;
}
