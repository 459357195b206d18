import { html, type Html } from './html.js';
import type { Fields } from './page-request.js';

/** What was typed before, if a form is shown again. */
export type Typed = Pick<Fields, 'text'>;

export const NOTHING: Typed = { text: () => undefined };

/** The three outcomes of a foreign call, with their fields. */
export function phaseFields(typed: Typed, mayRepeat: boolean, of: string, required: boolean): Html {
  const choice = choices(typed, required);
  const area = areas(typed, of);
  return html`<fieldset>
    <legend>What became of it?</legend>
    ${choice('executed', 'It took effect', 'The next attempt continues with this result, as if the call had returned it.')}
    ${area('result', 'Its result, as JSON', 'exactly what the call would have returned; empty for a call that returns nothing')}
    ${choice('rejected', 'The other system refused', 'In the next attempt, the call throws this exception.')}
    <div class="two">
      <div class="field">
        <label for="rejection_status-${of}">HTTP status of the exception</label
        ><input
          id="rejection_status-${of}"
          name="rejection_status"
          inputmode="numeric"
          placeholder="402"
          value="${typed.text('rejection_status')}"
        />
      </div>
      ${area('rejection_body', 'Its body, as JSON or text')}
    </div>
    ${mayRepeat && choice('not_executed', 'It never took effect, and it will not', 'The next attempt makes the call again, under the same effect key.')}
  </fieldset>`;
}

/** The outcomes of a key without a call in doubt. */
export function keyFields(typed: Typed, of: string, required: boolean): Html {
  const choice = choices(typed, required);
  const area = areas(typed, of);
  return html`<fieldset>
    <legend>What became of it?</legend>
    ${choice('completed', 'It is finished', 'Each retry gets this answer.')}
    <div class="two">
      <div class="field">
        <label for="answer_status-${of}">HTTP status of the answer</label
        ><input
          id="answer_status-${of}"
          name="answer_status"
          inputmode="numeric"
          placeholder="201"
          value="${typed.text('answer_status')}"
        />
      </div>
      ${area('answer_body', 'Its body, as JSON or text')}
    </div>
    ${choice('retryable', 'It did nothing that must not happen again', 'A retry may run it.')}
  </fieldset>`;
}

/** Why, for the audit. */
export function reasonFields(typed: Typed, evidence: boolean, of: string): Html {
  return html`<div class="field">
      <label for="reason-${of}">Reason (goes into the audit)</label
      ><input
        id="reason-${of}"
        name="reason"
        required
        maxlength="2000"
        value="${typed.text('reason')}"
        autocomplete="off"
      />
    </div>
    ${
      evidence &&
      html`<div class="field">
        <label for="evidence-${of}">Evidence</label
        ><input
          id="evidence-${of}"
          name="evidence"
          maxlength="2000"
          value="${typed.text('evidence')}"
          placeholder="what you saw in the other system: an id, an address, a ticket"
          autocomplete="off"
        />
      </div>`
    }`;
}

function choices(typed: Typed, required: boolean) {
  return (outcome: string, label: string, hint: string): Html =>
    html`<label class="choice"
      ><input
        type="radio"
        name="outcome"
        value="${outcome}"
        ${required ? html` required` : ''}${typed.text('outcome') === outcome ? html` checked` : ''}
      /><span>${label}</span><small>${hint}</small></label
    >`;
}

function areas(typed: Typed, of: string) {
  return (name: string, label: string, hint = ''): Html =>
    html`<div class="field">
      <label for="${name}-${of}">${label}</label
      ><textarea
        id="${name}-${of}"
        name="${name}"
        rows="2"
        placeholder="${hint}"
        spellcheck="false"
      >
${typed.text(name)}</textarea>
    </div>`;
}
