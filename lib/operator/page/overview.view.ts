import { KEY_STATUSES, type KeyStatus } from '../../schema/key-status.js';
import { age, counted, number, plural, span, time, type Counted } from './format.js';
import { html, visible, type Html, type HtmlValue } from './html.js';
import type { ReportedJob } from './job-reports.js';
import type { Links } from './links.js';
import { NEWEST, type RecentKeys, type UnknownKey } from './page-queries.js';
import { cell, pill, routeOf, scopeOf } from './pieces.js';
import { trend } from './trend.js';

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

/** A message that waits longer than this is worth a second look: the worker looks every 5 s at the latest. */
const LONG_LAG = 30_000;

/** A question that is overdue for so long is asked by nobody: no process has the reconciler, or the job is off. */
const NOBODY_ASKS_AFTER = 5 * 60_000;

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
      <small>left to people first, oldest first</small>
    </div>
    ${
      unknown.length === 0
        ? html`<p class="quiet">None. Every outcome is known, or an attempt is still running.</p>`
        : unknownTable(unknown, links)
    }
    ${(all > unknown.length || leftToPeople.more || askedAbout.more) && html`<p><a href="${links.to('keys', { status: 'unknown' })}">Show all unknown keys</a></p>`}`;
}

export function unknownTable(keys: readonly UnknownKey[], links: Links): Html {
  const now = Date.now();
  return html`<div class="wide">
    <table class="stack">
      <thead>
        <tr>
          <th>Key</th>
          <th>Scope</th>
          <th>Route</th>
          <th>In doubt</th>
          <th>Effect key valid until</th>
          <th>Age</th>
          <th>Who finds out</th>
        </tr>
      </thead>
      <tbody>
        ${keys.map(
          (key) =>
            html`<tr>
              ${cell('Key', html`<a href="${links.to('key', { id: key.id })}"><code>${visible(key.key)}</code></a>`)}
              ${cell('Scope', scopeOf(key.scope))} ${cell('Route', routeOf(key))}
              ${cell('In doubt', key.inDoubt ? visible(key.inDoubt.phase) : html`<span class="quiet">no call on record (${key.lastErrorCode ?? '–'})</span>`)}
              ${cell('Valid until', validity(key, now))} ${cell('Age', age(key.createdAt, now))}
              ${cell('Who finds out', whoFindsOut(key, now))}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

function validity({ inDoubt, keyValidUntil }: UnknownKey, now: number): HtmlValue {
  if (!inDoubt) return html`<span class="none">–</span>`;
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
  return html`<div class="wide">
    <table class="stack">
      <thead>
        <tr>
          <th>Job</th>
          <th>Process</th>
          <th>State</th>
          <th class="num">Handled</th>
          <th>Last look</th>
          <th>Last error</th>
        </tr>
      </thead>
      <tbody>
        ${reported.map(
          (job) =>
            html`<tr>
              ${cell('Job', job.name)}
              ${cell('Process', html`<small>${visible(job.process)}</small>`)}
              ${cell('State', jobState(job))} ${cell('Handled', number(job.handled), 'num')}
              ${cell('Last look', job.lastRunAt ? html`${age(job.lastRunAt, now)} ago` : html`<span class="none">–</span>`)}
              ${cell('Last error', job.lastError === undefined ? html`<span class="none">–</span>` : visible(job.lastError))}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

function jobState({ running, failures, gone }: ReportedJob): Html {
  if (gone) return pill('gone', 'warn');
  if (failures > 0) return pill(`failed ${failures}×`, 'bad');
  return running ? pill('on', 'good') : pill('off');
}
