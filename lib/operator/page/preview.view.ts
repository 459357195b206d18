import type { KeyReport } from '../key-report.js';
import { DECISION_FIELDS, type ReasonedDecision, type SimpleAction } from './decision.js';
import { html, visible, type Html } from './html.js';
import type { Links } from './links.js';
import type { Fields } from './page-request.js';
import { hidden, note, statusPill } from './pieces.js';
import type { Prediction } from './prediction.js';

/** What would happen, and the button that does it. */
export function previewView(
  key: KeyReport,
  reasoned: ReasonedDecision,
  prediction: Prediction,
  form: Fields,
  links: Links,
): Html {
  const back = links.to('key', { id: key.id });
  return html`<h1>${titleOf(reasoned)}</h1>
    <section class="card">
      <h2>Key</h2>
      <dl>
        <dt>Key</dt>
        <dd>
          <a href="${back}"><code>${visible(key.key)}</code></a>
        </dd>
        <dt>Status now</dt>
        <dd>${statusPill(key.status)}</dd>
        ${
          prediction.possible &&
          html`<dt>Status after it</dt>
            <dd>
              ${prediction.after === null ? 'the key is gone' : statusPill(prediction.after)}
            </dd>`
        }
        <dt>Reason</dt>
        <dd>${visible(reasoned.reason)}</dd>
        ${
          reasoned.evidence !== undefined &&
          html`<dt>Evidence</dt>
            <dd>${visible(reasoned.evidence)}</dd>`
        }
        ${givenValue(form)}
      </dl>
    </section>
    <section class="card">
      <h2>What happens next</h2>
      ${
        prediction.possible
          ? html`<ul>
                ${prediction.next.map((sentence) => html`<li>${visible(sentence)}</li>`)}
              </ul>
              ${prediction.warnings.map((warning) => note('warn', warning))}`
          : note('bad', visible(prediction.why))
      }
      ${
        prediction.possible &&
        html`<form method="post" action="${links.to('decide')}">
          ${hidden([...['id', 'seen_status', 'seen_attempt', 'effect', ...DECISION_FIELDS].map((name) => [name, form.text(name)] as const)])}
          <div class="row">
            <button
              name="step"
              value="do"
              ${reasoned.decision.action === 'evict' ? html` class="danger"` : ''}
            >
              ${verbOf(reasoned)}</button
            ><button class="plain" name="step" value="edit">Change it</button
            ><a class="button plain" href="${back}">Back</a>
          </div>
          <small
            >If the key changes before you press the button, nothing happens, and you are
            told.</small
          >
        </form>`
      }
      ${!prediction.possible && html`<p><a href="${back}">Back to the key</a></p>`}
    </section>`;
}

/** A form that was not filled in properly, or came too late. */
export function refusedView(title: string, detail: string, back: string, label: string): Html {
  return html`<h1>${title}</h1>
    ${note('bad', visible(detail))}
    <p><a class="button plain" href="${back}">${label}</a></p>`;
}

function givenValue(form: Fields): Html | false {
  const outcome = form.text('outcome');
  const value =
    outcome === 'executed'
      ? form.text('result')
      : outcome === 'rejected'
        ? `${form.text('rejection_status')} ${form.text('rejection_body')}`
        : outcome === 'completed' &&
          `${form.text('answer_status')} ${form.text('answer_body') ?? ''}`;
  if (value === false) return false;
  return html`<dt>Value</dt>
    <dd>${value === undefined ? 'no result' : html`<pre>${visible(value)}</pre>`}</dd>`;
}

const OUTCOMES: Record<string, string> = {
  executed: 'It took effect',
  rejected: 'The other system refused',
  not_executed: 'It never took effect',
  completed: 'It is finished',
  retryable: 'It may run again',
};

function titleOf({ decision }: ReasonedDecision): string {
  return decision.action === 'resolve'
    ? `Resolve: ${OUTCOMES[decision.resolution.outcome]}`
    : TITLES[decision.action];
}

const TITLES: Record<SimpleAction, string> = {
  retry: 'Try again',
  expire: 'Expire',
  evict: 'Evict',
  hold: 'Hold',
  release_hold: 'Release the hold',
};

function verbOf({ decision }: ReasonedDecision): string {
  return VERBS[decision.action];
}

const VERBS: Record<SimpleAction | 'resolve', string> = {
  resolve: 'Resolve it',
  retry: 'Try again',
  expire: 'Expire it',
  evict: 'Remove it',
  hold: 'Hold it',
  release_hold: 'Release it',
};
