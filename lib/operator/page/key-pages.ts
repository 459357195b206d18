import type { Answer } from '../../answers/answer.js';
import { KEY_STATUSES, type KeyStatus } from '../../schema/key-status.js';
import type { IdempotencyOperator } from '../idempotency-operator.js';
import type { KeyReport } from '../key-report.js';
import { phaseOf, type Decider } from './decider.js';
import { decisionForms } from './decision-forms.view.js';
import { FormFault, readDecision, type ReasonedDecision } from './decision.js';
import type { Frame } from './frame.js';
import { html, visible } from './html.js';
import { keyView } from './key.view.js';
import type { PageAccess } from './page-access.js';
import { seeOther } from './page-answer.js';
import type { PageRequest } from './page-request.js';
import { note } from './pieces.js';
import { predict } from './prediction.js';
import { previewView } from './preview.view.js';
import type { ShownValues } from './shown-values.js';

/** The page of one key, and what is decided on it. */
export class KeyPages {
  constructor(
    private readonly operator: IdempotencyOperator,
    private readonly access: PageAccess,
    private readonly decider: Decider,
    private readonly values: ShownValues,
    private readonly frame: Frame,
  ) {}

  async show(request: PageRequest): Promise<Answer> {
    const { query, links, visitor } = request;
    const key = await this.operator.inspect(query.text('id') ?? '');
    if (!key)
      return this.frame.refuse(request, 404, 'No such key', 'It was removed, or it never existed.');
    const shown = { key, open: query.text('values') === 'shown', who: visitor.who };
    return this.frame.show(request, { title: `Key ${key.id}`, nav: 'keys', live: true }, [
      this.frame.notes(request),
      keyView(shown, links, this.values),
      decisionForms(key, links, visitor, this.access.namesPeople),
    ]);
  }

  /** Shows a preview first, then acts. */
  async decide(request: PageRequest): Promise<Answer> {
    const { form, links } = request;
    const key = await this.operator.inspect(form.text('id') ?? '');
    if (!key)
      return this.frame.refuse(request, 404, 'No such key', 'It was removed, or it never existed.');
    const phase = phaseOf(key, form.text('effect'));
    if (form.text('effect') !== undefined && !phase) {
      const back = links.to('key', { id: key.id });
      return this.frame.refuse(
        request,
        409,
        'Nothing was changed',
        'The key has no such call.',
        back,
      );
    }
    try {
      const reasoned = readDecision(form);
      const step = form.text('step');
      if (step === 'edit') return this.fillIn(request, key);
      if (step === 'do') return await this.carryOut(request, key, phase?.effectKey, reasoned);
      const prediction = predict(key, reasoned.decision, phase);
      const content = previewView(key, reasoned, prediction, form, links);
      return this.frame.show(request, { title: 'Preview', nav: 'keys' }, content);
    } catch (error) {
      if (error instanceof FormFault) return this.fillIn(request, key, error.message);
      throw error;
    }
  }

  /** The forms of a key again, with what was typed. */
  private fillIn(request: PageRequest, key: KeyReport, fault?: string): Answer {
    const { form, links, visitor } = request;
    const back = links.to('key', { id: key.id });
    return this.frame.show(
      request,
      { title: 'Decide', nav: 'keys' },
      [
        html`<h1>
          <a href="${back}"><code>${visible(key.key)}</code></a>
        </h1>`,
        fault !== undefined && note('bad', visible(fault)),
        decisionForms(key, links, visitor, this.access.namesPeople, form),
      ],
      fault === undefined ? 200 : 400,
    );
  }

  private async carryOut(
    request: PageRequest,
    key: KeyReport,
    effectKey: string | undefined,
    reasoned: ReasonedDecision,
  ): Promise<Answer> {
    const { form, links, raw } = request;
    const { action } = reasoned.decision;
    const back = links.to('key', { id: key.id });
    const seen = seenIn(form);
    if (!seen) throw new FormFault('The form does not say how the key was seen. Fill it in again.');
    const decided = await this.decider.decide(raw, { key, effectKey, seen }, reasoned);
    if (!decided.changed) {
      const status = decided.reason === 'forbidden' ? 403 : 409;
      return this.frame.refuse(request, status, 'Nothing was changed', decided.detail, back);
    }
    return seeOther(
      action === 'evict'
        ? links.to('keys', { done: action })
        : links.to('key', { id: key.id, done: action }),
    );
  }
}

function seenIn(form: PageRequest['form']): { status: KeyStatus; attempt: number } | undefined {
  const status = KEY_STATUSES.find((each) => each === form.text('seen_status'));
  const attempt = form.text('seen_attempt') ?? '';
  return status && /^\d{1,9}$/.test(attempt) ? { status, attempt: Number(attempt) } : undefined;
}
