import type { AuditEntry } from '../key-report.js';
import { auditView } from './audit.view.js';
import { NOTHING, reasonFields } from './decision-fields.view.js';
import { number, time } from './format.js';
import { html, visible, type Html } from './html.js';
import type { Links } from './links.js';
import type { MessageReport } from './message-queries.js';
import type { Visitor } from './page-access.js';
import { hidden, none, pill, scopeOf } from './pieces.js';
import type { ShownValues } from './shown-values.js';

export interface ShownMessage {
  scope: string;
  id: string;
  /** Undefined if it was delivered, and only the audit still knows it. */
  message: MessageReport | undefined;
  audit: AuditEntry[];
  /** Whether the payload is shown. */
  open: boolean;
}

/** One message: what it is, why it was given up, and who requeued it. */
export function letterView(
  shown: ShownMessage,
  links: Links,
  visitor: Visitor,
  values: ShownValues,
): Html {
  const { scope, id, message, audit, open } = shown;
  const requeueable = message !== undefined && message.deadAt !== null && visitor.may('requeue');
  return html`<div class="head">
      <h1><code>${visible(id)}</code></h1>
      ${statePill(message)}
    </div>
    <section class="card">
      <h2>Message</h2>
      ${
        message
          ? facts(message, links)
          : html`<p class="quiet">It is not in the outbox any more: it was delivered.</p>`
      }
    </section>
    ${
      message &&
      html`<section class="card">
        <div class="head">
          <h2>Payload</h2>
          <a
            class="button plain small"
            href="${links.to('letter', { scope, id, ...(!open && { values: 'shown' }) })}"
            >${open ? 'Hide' : 'Show'} the payload</a
          >
        </div>
        ${open ? values.show(message.payload, { kind: 'payload', who: visitor.who, topic: message.topic }) : html`<p class="quiet">Hidden until it is asked for.</p>`}
      </section>`
    }
    <section class="card">
      <h2>Audit</h2>
      ${auditView(audit, { links, scope })}
    </section>
    ${requeueable && requeueForm(shown, links)}`;
}

function statePill(message: MessageReport | undefined): Html {
  if (!message) return pill('delivered', 'good');
  return message.deadAt === null ? pill('queued', 'warn') : pill('dead', 'bad');
}

function facts(message: MessageReport, links: Links): Html {
  const { topic, scope, keyId, orderingKey, attempts, lastError } = message;
  return html`<dl>
    <dt>Topic</dt>
    <dd>${visible(topic)}</dd>
    <dt>Scope</dt>
    <dd>${scopeOf(scope)}</dd>
    <dt>Added by key</dt>
    <dd>
      ${keyId === null ? none() : html`<a href="${links.to('key', { id: keyId })}"><code>${visible(keyId)}</code></a>`}
    </dd>
    <dt>Ordering key</dt>
    <dd>${orderingKey === null ? none() : visible(orderingKey)}</dd>
    <dt>Attempts</dt>
    <dd>${number(attempts)}</dd>
    <dt>Last error</dt>
    <dd>${lastError === null ? none() : visible(lastError)}</dd>
    <dt>Added</dt>
    <dd>${time(message.createdAt)}</dd>
    <dt>Given up</dt>
    <dd>${time(message.deadAt)}</dd>
    ${
      message.deadAt === null &&
      html`<dt>Next delivery</dt>
        <dd>${time(message.availableAt)}</dd>`
    }
  </dl>`;
}

function requeueForm({ scope, id }: ShownMessage, links: Links): Html {
  return html`<section class="card">
    <h2>Requeue</h2>
    <p>It gets another round of deliveries, under the same id, at the end of its ordering key.</p>
    <form method="post" action="${links.to('requeue')}">
      ${hidden([
        ['from', 'letter'],
        ['scope', scope],
        ['item0', id],
      ])}
      ${reasonFields(NOTHING, false, 'letter')}
      <div class="row"><button name="which" value="chosen">Requeue it</button></div>
    </form>
  </section>`;
}
