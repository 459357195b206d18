import type { KeyReport, PhaseReport } from '../key-report.js';
import { auditView } from './audit.view.js';
import { number, time } from './format.js';
import { html, visible, type Html } from './html.js';
import type { Links } from './links.js';
import { copyable, none, phasePill, pill, routeOf, scopeOf, statusPill } from './pieces.js';
import type { ShownValues } from './shown-values.js';

export interface ShownKey {
  key: KeyReport;
  /** Whether requests and results are shown. */
  open: boolean;
  who: string | undefined;
}

/** One key: its facts, its timeline, its phases and its audit. The forms follow it. */
export function keyView(shown: ShownKey, links: Links, values: ShownValues): Html {
  const { key } = shown;
  return html`<div class="head">
      <h1><code>${visible(key.key)}</code></h1>
      <div id="status" data-live>
        ${statusPill(key.status)}${key.heldAt !== null && html` ${pill('held')}`}
      </div>
    </div>
    <div class="two">
      <section class="card">
        <h2>Key</h2>
        <div id="facts" data-live>${facts(key)}</div>
      </section>
      <section class="card">
        <h2>Timeline</h2>
        <div id="timeline" data-live>${timeline(key)}</div>
      </section>
    </div>
    <section class="card">
      <div class="head">
        <h2>Phases</h2>
        ${hideOrShow(shown, links)}
      </div>
      <div id="phases" data-live>${phases(shown, values)}</div>
    </section>
    <section class="card">
      <h2>Kept request</h2>
      <div id="request" data-live>${keptRequest(shown, values)}</div>
    </section>
    <section class="card">
      <h2>Audit</h2>
      <div id="audit" data-live>${auditView(key.audit, { links, scope: key.scope })}</div>
    </section>`;
}

function facts(key: KeyReport): Html {
  const { answer } = key;
  return html`<dl>
    <dt>Id</dt>
    <dd><code>${visible(key.id)}</code></dd>
    <dt>Scope</dt>
    <dd>${scopeOf(key.scope)}</dd>
    <dt>Route</dt>
    <dd>${routeOf(key)}</dd>
    ${
      key.path !== null &&
      html`<dt>Path</dt>
        <dd><code>${visible(key.path)}</code></dd>`
    }
    ${
      key.endpoint !== '' &&
      html`<dt>Endpoint</dt>
        <dd><code>${visible(key.endpoint)}</code></dd>`
    }
    <dt>Recovery point</dt>
    <dd>${visible(key.recoveryPoint)}</dd>
    <dt>Attempts</dt>
    <dd>
      ${number(key.attempt)}${key.resumeAttempts > 0 && html` <small>${number(key.resumeAttempts)} of workers in this round</small>`}
    </dd>
    ${
      key.lastErrorCode !== null &&
      html`<dt>Last error</dt>
        <dd><code>${visible(key.lastErrorCode)}</code></dd>`
    }
    ${
      key.operation !== null &&
      html`<dt>Operation</dt>
        <dd><code>${visible(key.operation)}</code></dd>`
    }
    ${
      key.resumeAfter !== null &&
      html`<dt>Worker goes on</dt>
        <dd>${time(key.resumeAfter)}</dd>`
    }
    ${
      key.status === 'unknown' &&
      html`<dt>Asked about</dt>
        <dd>
          ${key.reconcileAfter === null ? 'no more: left to people' : html`${time(key.reconcileAfter)}`}
          <small>${number(key.reconcileAttempts)} so far</small>
        </dd>`
    }
    <dt>Reserved</dt>
    <dd>${time(key.createdAt)}</dd>
    <dt>Last run</dt>
    <dd>${time(key.lastRunAt)}</dd>
    <dt>Finished</dt>
    <dd>${time(key.completedAt)}</dd>
    <dt>Kept until</dt>
    <dd>${key.expiresAt === null ? 'no limit' : time(key.expiresAt)}</dd>
    ${
      key.heldAt !== null &&
      html`<dt>Held since</dt>
        <dd>${time(key.heldAt)} <small>kept until it is released</small></dd>`
    }
    <dt>Stored answer</dt>
    <dd>
      ${answer ? `${answer.status}, ${number(answer.bytes)} bytes (for its client only)` : none()}
    </dd>
  </dl>`;
}

function timeline({ timeline: entries }: KeyReport): Html {
  return html`<ol class="line">
    ${entries.map(
      ({ at, what, attempt }) =>
        html`<li>
          <div>
            ${visible(what)}${attempt !== undefined && html` <small>attempt ${attempt}</small>`}
          </div>
          ${time(at)}
        </li>`,
    )}
  </ol>`;
}

function hideOrShow({ key, open }: ShownKey, links: Links): Html {
  return open
    ? html`<a class="button plain small" href="${links.to('key', { id: key.id })}"
        >Hide requests and results</a
      >`
    : html`<a class="button plain small" href="${links.to('key', { id: key.id, values: 'shown' })}"
        >Show requests and results</a
      >`;
}

function phases(shown: ShownKey, values: ShownValues): Html {
  const { phases: all } = shown.key;
  if (all.length === 0) return html`<p class="quiet">No phase is on record.</p>`;
  return html`<ol class="line">
    ${all.map((phase) => html`<li>${onePhase(phase, shown, values)}</li>`)}
  </ol>`;
}

function onePhase(phase: PhaseReport, shown: ShownKey, values: ShownValues): Html {
  return html`<h3>
      ${visible(phase.name)} ${phasePill(phase.state)}
      <small>${phase.kind}, attempt ${phase.attempt}</small>
    </h3>
    <dl>
      ${phase.effectKey !== null && effect(phase, phase.effectKey, shown, values)}
      <dt>Begun</dt>
      <dd>${time(phase.startedAt)}</dd>
      <dt>Finished</dt>
      <dd>${time(phase.finishedAt)}</dd>
    </dl>
    ${shown.open && phaseValues(phase, shown, values)}`;
}

function effect(
  { name, inDoubt, keyValidUntil, request, result }: PhaseReport,
  effectKey: string,
  { key: { route } }: ShownKey,
  values: ShownValues,
): Html {
  const link = values.link({ effectKey, phase: name, route, request, result });
  return html`<dt>Effect key</dt>
    <dd>
      ${copyable(effectKey)}${link !== undefined && html` <a href="${link}" rel="noopener noreferrer" target="_blank">Look it up</a>`}
    </dd>
    <dt>Valid until</dt>
    <dd>${keyValidUntil === null ? 'no limit' : time(keyValidUntil)}</dd>
    ${
      inDoubt !== null &&
      html`<dt>If in doubt</dt>
        <dd>${inDoubt}</dd>`
    }`;
}

function phaseValues(phase: PhaseReport, { key, who }: ShownKey, values: ShownValues): Html {
  const where = { who, phase: phase.name, route: key.route };
  return html`${
      phase.kind === 'foreign' &&
      html`<h4>Request</h4>
        ${values.show(phase.request, { kind: 'phase_request', ...where })}`
    }
    <h4>Result</h4>
    ${values.show(phase.result, { kind: 'phase_result', ...where })}`;
}

function keptRequest({ key, open, who }: ShownKey, values: ShownValues): Html {
  if (key.request === null || key.request === undefined) {
    return html`<p class="quiet">Nothing: the route's keepRequest says what to keep.</p>`;
  }
  if (!open) return html`<p class="quiet">Hidden until it is asked for, with the phases above.</p>`;
  return values.show(key.request, { kind: 'request', who, route: key.route });
}
