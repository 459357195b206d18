import { KEY_STATUSES } from '../../schema/key-status.js';
import { age, plural } from './format.js';
import { html, visible, type Html } from './html.js';
import type { FilterTexts } from './key-filter.js';
import type { KeyList } from './key-lists.js';
import type { Links } from './links.js';
import { unknownTable } from './overview.view.js';
import { cell, note, routeOf, scopeOf, statusPill } from './pieces.js';
import { bulkForm } from './bulk.view.js';
import type { Visitor } from './page-access.js';

export interface Keys {
  filter: FilterTexts;
  /** Undefined where the filter cannot be meant. */
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
        <small>${unknown ? 'left to people first, oldest first' : 'oldest first'}</small>
      </div>
      ${keys.length > 0 && (unknown ? unknownTable(unknown, links) : table(list, links))}
      ${unfinished && note('', 'The search stopped after 200,000 keys, because no index helps it. Go on, or narrow it: by scope and key, effect key or id it takes no time.')}
      <div class="row">
        ${further && html`<a class="button plain" href="${links.to('keys', { ...filter })}">First page</a>`}
        ${nextPage && html`<a class="button plain" rel="next" href="${nextPage}">${unfinished ? 'Go on with the search' : 'Next page'}</a>`}
      </div>
    </section>
    ${keys.length > 0 && bulkForm(filter, links, visitor)}`;
}

function table({ keys }: KeyList, links: Links): Html {
  const now = Date.now();
  return html`<div class="wide">
    <table class="stack">
      <thead>
        <tr>
          <th>Key</th>
          <th>Status</th>
          <th>Scope</th>
          <th>Route</th>
          <th>Recovery point</th>
          <th class="num">Attempts</th>
          <th>Age</th>
        </tr>
      </thead>
      <tbody>
        ${keys.map(
          (key) =>
            html`<tr>
              ${cell('Key', html`<a href="${links.to('key', { id: key.id })}"><code>${visible(key.key)}</code></a>`)}
              ${cell('Status', html`${statusPill(key.status)}${key.lastErrorCode !== null && html` <span class="sub">${visible(key.lastErrorCode)}</span>`}`)}
              ${cell('Scope', scopeOf(key.scope))} ${cell('Route', routeOf(key))}
              ${cell('Recovery point', visible(key.recoveryPoint))}
              ${cell('Attempts', key.attempt, 'num')} ${cell('Age', age(key.createdAt, now))}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}
