import type { AuditEntry } from '../key-report.js';
import { time } from './format.js';
import { html, visible, type Html } from './html.js';
import type { Links } from './links.js';

/** What was decided about a key or a message: who, what, why, when. */
export function auditView(
  entries: readonly AuditEntry[],
  { links, scope }: { links: Links; scope: string },
): Html {
  if (entries.length === 0) return html`<p class="quiet">Nobody has decided anything yet.</p>`;
  return html`<ol class="line">
    ${entries.map(
      ({ action, who, why, before, after, at, messageId }) =>
        html`<li>
          <div>
            <b>${visible(action)}</b> by ${visible(who)}
            <small
              >${visible(stateOf(before))} → ${after ? visible(stateOf(after)) : 'removed'}</small
            >
            ${messageId !== null && html`<a href="${links.to('letter', { scope, id: messageId })}">message <code>${visible(messageId)}</code></a>`}
          </div>
          ${why !== null && html`<div>${why.split('\n').map((line) => html`${visible(line)}<br />`)}</div>`}${time(at)}
        </li>`,
    )}
  </ol>`;
}

/** Of a key: its status and the phase that was decided about. Of a message: its status and its topic. */
function stateOf(state: unknown): string {
  const { status, phase, topic } = state as {
    status: string;
    phase?: { name: string; state: string };
    topic?: string;
  };
  if (phase) return `${status} (${phase.name}: ${phase.state})`;
  return topic === undefined ? status : `${status} (${topic})`;
}
