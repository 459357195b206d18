import { KEY_STATUSES, type KeyStatus } from '../../schema/key-status.js';
import { age, counted, number, plural, span, type Counted } from './format.js';
import { html, visible, type Html } from './html.js';
import type { ReportedJob } from './job-reports.js';
import type { Links } from './links.js';
import { NEWEST, type RecentKeys } from './page-queries.js';
import type { UnknownKey } from './unknown-queries.js';
import { none, pill } from './pieces.js';
import { table } from './table.view.js';
import { trend } from './trend.js';
import { UNKNOWN_ORDER, unknownTable } from './unknown-table.view.js';

export interface Overview {
  unknown: UnknownKey[];
  leftToPeople: Counted;
  askedAbout: Counted;
  resumable: Counted;
  recent: RecentKeys[];
  outbox: { waiting: Counted; lag: number };
  letters: Counted;
  jobs: ReportedJob[];
  jobsOf: string;
}

/** A longer lag deserves attention: the worker looks for messages every 5 s at the latest. */
const LONG_LAG = 30_000;

export function overviewView(overview: Overview, links: Links): Html {
  return html`<h1>Overview</h1>
    <div id="counts" data-live>${tiles(overview, links)}</div>
    <section class="card" aria-labelledby="unknown-title">
      <div id="unknown" data-live>${unknownSection(overview, links)}</div>
    </section>
    <div class="two">
      <section class="card">
        <h2>New keys per minute</h2>
        <div id="trend" data-live>${trend(overview.recent)}</div>
      </section>
      <section class="card">
        <h2>Keys by state</h2>
        <div id="states" data-live>${states(overview.recent, links)}</div>
      </section>
    </div>
    <section class="card">
      <h2>Jobs of ${overview.jobsOf}</h2>
      <div id="jobs" data-live>${jobs(overview.jobs)}</div>
    </section>`;
}

function tiles(overview: Overview, links: Links): Html {
  const { leftToPeople, askedAbout, resumable, outbox, letters } = overview;
  const unknown = links.to('keys', { status: 'unknown' });
  return html`<ul class="tiles">
    ${tile('unknown, left to people', leftToPeople, 'bad', unknown)}
    ${tile('unknown, being asked about', askedAbout, 'warn', unknown)}
    ${tile('waiting for a worker', resumable, 'warn', links.to('keys', { status: 'failed_retryable' }))}
    ${tile('messages in the outbox', outbox.waiting, '')}
    <li class="tile ${outbox.lag > LONG_LAG ? 'warn' : 'good'}">
      <span><b>${span(outbox.lag)}</b><small>outbox lag</small></span>
    </li>
    ${tile('dead letters', letters, 'bad', links.to('letters'))}
  </ul>`;
}

function tile(label: string, amount: Counted, tone: string, href?: string): Html {
  const content = html`<b>${counted(amount)}</b><small>${label}</small>`;
  return html`<li class="tile ${amount.count === 0 ? 'good' : tone}">
    ${href === undefined ? html`<span>${content}</span>` : html`<a href="${href}">${content}</a>`}
  </li>`;
}

function unknownSection({ unknown, leftToPeople, askedAbout }: Overview, links: Links): Html {
  const all = leftToPeople.count + askedAbout.count;
  return html`<div class="head">
      <h2 id="unknown-title">Unknown outcomes</h2>
      <small>${UNKNOWN_ORDER}</small>
    </div>
    ${
      unknown.length === 0
        ? html`<p class="quiet">None. Every outcome is known, or an attempt is still running.</p>`
        : unknownTable(unknown, links)
    }
    ${(all > unknown.length || leftToPeople.more || askedAbout.more) && html`<p><a href="${links.to('keys', { status: 'unknown' })}">Show all unknown keys</a></p>`}`;
}

function states(recent: readonly RecentKeys[], links: Links): Html {
  const counts = new Map<KeyStatus, number>();
  for (const { status, count } of recent) counts.set(status, (counts.get(status) ?? 0) + count);
  const total = recent.reduce((sum, { count }) => sum + count, 0);
  return html`<table>
      <tbody>
        ${KEY_STATUSES.map(
          (status) =>
            html`<tr>
              <td><a href="${links.to('keys', { status })}">${status}</a></td>
              <td class="num">${number(counts.get(status) ?? 0)}</td>
            </tr>`,
        )}
      </tbody>
    </table>
    <p class="quiet">
      ${total >= NEWEST ? `Of the newest ${number(NEWEST)} keys.` : `All ${plural(total, 'key')}.`}
    </p>`;
}

function jobs(reported: readonly ReportedJob[]): Html {
  const now = Date.now();
  return table<ReportedJob>(
    [
      { title: 'Job', cell: ({ name }) => name },
      { title: 'Process', cell: ({ process }) => html`<small>${visible(process)}</small>` },
      { title: 'State', cell: jobState },
      { title: 'Handled', kind: 'num', cell: ({ handled }) => number(handled) },
      {
        title: 'Last run',
        cell: ({ lastRunAt }) => (lastRunAt ? html`${age(lastRunAt, now)} ago` : none()),
      },
      {
        title: 'Last error',
        cell: ({ lastError }) => (lastError === undefined ? none() : visible(lastError)),
      },
    ],
    reported,
  );
}

function jobState({ running, failures, gone }: ReportedJob): Html {
  if (gone) return pill('gone', 'warn');
  if (failures > 0) return pill(`failed ${failures}×`, 'bad');
  return running ? pill('on', 'good') : pill('off');
}
