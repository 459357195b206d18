import type { Answer } from '../../answers/answer.js';
import type { Outbox } from '../../outbox/outbox.js';
import { KEY_STATUSES, type KeyStatus } from '../../schema/key-status.js';
import type { IdempotencyOperator } from '../idempotency-operator.js';
import type { KeyReport } from '../key-report.js';
import { Bulk } from './bulk.js';
import { bulkResultView, dryRunView } from './bulk.view.js';
import { Decider, phaseOf } from './decider.js';
import { decisionForms } from './decision-forms.view.js';
import { FormFault, readDecision, type ReasonedDecision } from './decision.js';
import { html, visible, type HtmlValue } from './html.js';
import type { JobReports } from './job-reports.js';
import { filterIn, queryFrom } from './key-filter.js';
import { KeyLists, type KeyList } from './key-lists.js';
import { keyView } from './key.view.js';
import { keysView } from './keys.view.js';
import { DeadLetters } from './dead-letters.js';
import { overviewView } from './overview.view.js';
import { PageAccess } from './page-access.js';
import { htmlAnswer, seeOther } from './page-answer.js';
import type { PageQueries } from './page-queries.js';
import type { PageRequest } from './page-request.js';
import type { OperatorPageOptions } from './page.options.js';
import { note } from './pieces.js';
import { predict } from './prediction.js';
import { previewView, refusedView } from './preview.view.js';
import { page, type Shell } from './shell.js';
import { ShownValues } from './shown-values.js';

/** How many unknown keys the overview shows, and a list has on a page. */
const ON_OVERVIEW = 20;
const ON_PAGE = 50;

/** What was just done, by the word in the address. Nothing of the address itself is shown. */
const DONE: Record<string, string> = {
  resolve: 'It is resolved. The audit has your name and your reason.',
  retry: 'The jobs try again.',
  expire: 'The key was ended before its time.',
  evict: 'The key was removed.',
  requeue: 'The messages were requeued.',
};

/** Every page of the operator page, and every action on it: from a request to an answer. */
export class OperatorPage {
  readonly access: PageAccess;
  private readonly lists: KeyLists;
  private readonly decider: Decider;
  private readonly bulkActions: Bulk;
  private readonly deadLetters: DeadLetters;
  private readonly values: ShownValues;

  constructor(
    private readonly options: OperatorPageOptions,
    private readonly operator: IdempotencyOperator,
    private readonly queries: PageQueries,
    private readonly jobs: JobReports,
    outbox: Outbox,
  ) {
    this.access = new PageAccess(options.access);
    this.values = new ShownValues(options);
    this.lists = new KeyLists(operator, queries);
    this.decider = new Decider(operator, this.access);
    this.bulkActions = new Bulk(operator, this.lists, this.decider, this.access);
    this.deadLetters = new DeadLetters(outbox, this.access, this.values);
  }

  async overview(request: PageRequest): Promise<Answer> {
    const unknown = await this.queries.unknown(ANY, undefined, ON_OVERVIEW);
    const counts = await this.queries.countUnknown();
    const overview = {
      unknown,
      ...counts,
      resumable: await this.queries.countResumable(),
      recent: await this.queries.recent(),
      outbox: await this.queries.outboxLag(),
      letters: await this.queries.countDeadLetters(),
      jobs: await this.jobs.list(),
      jobsOf: this.jobs.whose,
    };
    return this.show(request, { title: 'Overview', nav: '', live: true }, [
      this.notes(request),
      overviewView(overview, request.links),
    ]);
  }

  async keys(request: PageRequest): Promise<Answer> {
    const { query, links, visitor } = request;
    const filter = filterIn(query);
    const after = query.text('after');
    let list: KeyList | undefined;
    let fault: string | undefined;
    try {
      list = await this.lists.page(queryFrom(filter), after, ON_PAGE);
    } catch (error) {
      if (!(error instanceof FormFault)) throw error;
      fault = error.message;
    }
    return this.show(request, { title: 'Keys', nav: 'keys' }, [
      this.notes(request),
      keysView({ filter, list, fault, further: after !== undefined }, links, visitor),
    ]);
  }

  async key(request: PageRequest): Promise<Answer> {
    const { query, links, visitor } = request;
    const key = await this.operator.inspect(query.text('id') ?? '');
    if (!key) return this.refuse(request, 404, 'No such key', 'It was removed, or it never was.');
    const shown = { key, open: query.text('values') === 'shown', who: visitor.who };
    return this.show(request, { title: `Key ${key.id}`, nav: 'keys', live: true }, [
      this.notes(request),
      keyView(shown, links, this.values),
      decisionForms(key, links, visitor, this.access.namesPeople),
    ]);
  }

  /** First a preview, then the deed. */
  async decide(request: PageRequest): Promise<Answer> {
    const { form, links } = request;
    const key = await this.operator.inspect(form.text('id') ?? '');
    if (!key) return this.refuse(request, 404, 'No such key', 'It was removed, or it never was.');
    const phase = phaseOf(key, form.text('effect'));
    if (form.text('effect') !== undefined && !phase) {
      const back = links.to('key', { id: key.id });
      return this.refuse(request, 409, 'Nothing was changed', 'The key has no such call.', back);
    }
    try {
      const reasoned = readDecision(form);
      const step = form.text('step');
      if (step === 'edit') return this.fillIn(request, key);
      if (step === 'do') return await this.carryOut(request, key, phase?.effectKey, reasoned);
      const prediction = predict(key, reasoned.decision, phase);
      const content = previewView(key, reasoned, prediction, form, links);
      return this.show(request, { title: 'Preview', nav: 'keys' }, content);
    } catch (error) {
      if (error instanceof FormFault) return this.fillIn(request, key, error.message);
      throw error;
    }
  }

  /** The forms of a key again, with what was typed. */
  private fillIn(request: PageRequest, key: KeyReport, fault?: string): Answer {
    const { form, links, visitor } = request;
    const back = links.to('key', { id: key.id });
    return this.show(
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
      return this.refuse(request, status, 'Nothing was changed', decided.detail, back);
    }
    return seeOther(
      action === 'evict'
        ? links.to('keys', { done: action })
        : links.to('key', { id: key.id, done: action }),
    );
  }

  /** First a dry run, then the deed. */
  async bulk(request: PageRequest): Promise<Answer> {
    const { form, links, raw } = request;
    const reasoned = readDecision(form);
    if (form.text('step') !== 'do') {
      const dryRun = await this.bulkActions.dryRun(raw, form, reasoned);
      return this.show(request, { title: 'Dry run', nav: 'keys' }, dryRunView(dryRun, form, links));
    }
    const result = await this.bulkActions.carryOut(raw, form, reasoned);
    return this.show(request, { title: 'Done', nav: 'keys' }, bulkResultView(result, form, links));
  }

  async letters(request: PageRequest): Promise<Answer> {
    const content = await this.deadLetters.list(request);
    return this.show(request, { title: 'Dead letters', nav: 'letters' }, [
      this.notes(request),
      content,
    ]);
  }

  async requeue(request: PageRequest): Promise<Answer> {
    const outcome = await this.deadLetters.requeue(request);
    if ('preview' in outcome) {
      return this.show(request, { title: 'Dry run', nav: 'letters' }, outcome.preview);
    }
    const { topic, refusal } = outcome;
    const back = request.links.to('letters', { topic });
    if (refusal) return this.refuse(request, refusal.status, refusal.title, refusal.detail, back);
    return seeOther(request.links.to('letters', { topic, done: 'requeue' }));
  }

  /** An answer that says why nothing was done. */
  refuse(
    request: Pick<PageRequest, 'links' | 'visitor'>,
    status: number,
    title: string,
    detail: string,
    back = request.links.to(''),
  ): Answer {
    return this.show(request, { title }, refusedView(title, detail, back, 'Back'), status);
  }

  private show(
    request: Pick<PageRequest, 'links' | 'visitor'>,
    shell: Shell,
    content: HtmlValue,
    status = 200,
  ): Answer {
    return htmlAnswer(page(request, this.options.environment, shell, content), status);
  }

  private notes({ query }: PageRequest): HtmlValue {
    const done = query.text('done');
    return [
      done !== undefined && Object.hasOwn(DONE, done) && note('good', DONE[done]),
      !this.access.namesPeople &&
        note('', html`Read-only: give <code>operatorPage.access</code> to let people decide here.`),
    ];
  }
}

const ANY = { scope: null, key: null, route: null, olderThan: null, youngerThan: null };

function seenIn(form: PageRequest['form']): { status: KeyStatus; attempt: number } | undefined {
  const status = KEY_STATUSES.find((each) => each === form.text('seen_status'));
  const attempt = form.text('seen_attempt') ?? '';
  return status && /^\d{1,9}$/.test(attempt) ? { status, attempt: Number(attempt) } : undefined;
}
