import type { Answer } from '../../answers/answer.js';
import type { Outbox } from '../../outbox/outbox.js';
import type { IdempotencyOperator } from '../idempotency-operator.js';
import { Bulk } from './bulk.js';
import { bulkResultView, dryRunView } from './bulk.view.js';
import { DeadLetters } from './dead-letters.js';
import { Decider } from './decider.js';
import { FormFault, readDecision } from './decision.js';
import { Frame } from './frame.js';
import type { JobReports } from './job-reports.js';
import { filterIn, queryFrom } from './key-filter.js';
import { KeyLists, type KeyList } from './key-lists.js';
import { KeyPages } from './key-pages.js';
import { keysView } from './keys.view.js';
import { overviewView } from './overview.view.js';
import { PageAccess } from './page-access.js';
import { seeOther } from './page-answer.js';
import type { PageQueries } from './page-queries.js';
import type { PageRequest } from './page-request.js';
import type { OperatorPageOptions } from './page.options.js';
import { ShownValues } from './shown-values.js';

/** How many unknown keys the overview shows, and a list has on a page. */
const ON_OVERVIEW = 20;
const ON_PAGE = 50;

/** Every page of the operator page, and every action on it: from a request to an answer. */
export class OperatorPage {
  readonly access: PageAccess;
  readonly frame: Frame;
  readonly key: KeyPages;
  private readonly lists: KeyLists;
  private readonly bulkActions: Bulk;
  private readonly deadLetters: DeadLetters;

  constructor(
    options: OperatorPageOptions,
    operator: IdempotencyOperator,
    private readonly queries: PageQueries,
    private readonly jobs: JobReports,
    outbox: Outbox,
  ) {
    const values = new ShownValues(options);
    this.access = new PageAccess(options.access);
    this.frame = new Frame(options.environment, this.access);
    this.lists = new KeyLists(operator, queries);
    const decider = new Decider(operator, this.access);
    this.key = new KeyPages(operator, this.access, decider, values, this.frame);
    this.bulkActions = new Bulk(operator, this.lists, decider, this.access);
    this.deadLetters = new DeadLetters(outbox, this.access, values);
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
    return this.frame.show(request, { title: 'Overview', nav: '', live: true }, [
      this.frame.notes(request),
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
    return this.frame.show(request, { title: 'Keys', nav: 'keys' }, [
      this.frame.notes(request),
      keysView({ filter, list, fault, further: after !== undefined }, links, visitor),
    ]);
  }

  /** First a dry run, then the deed. */
  async bulk(request: PageRequest): Promise<Answer> {
    const { form, links, raw } = request;
    const reasoned = readDecision(form);
    if (form.text('step') !== 'do') {
      const dryRun = await this.bulkActions.dryRun(raw, form, reasoned);
      return this.frame.show(
        request,
        { title: 'Dry run', nav: 'keys' },
        dryRunView(dryRun, form, links),
      );
    }
    const result = await this.bulkActions.carryOut(raw, form, reasoned);
    return this.frame.show(
      request,
      { title: 'Done', nav: 'keys' },
      bulkResultView(result, form, links),
    );
  }

  async letters(request: PageRequest): Promise<Answer> {
    const content = await this.deadLetters.list(request);
    return this.frame.show(request, { title: 'Dead letters', nav: 'letters' }, [
      this.frame.notes(request),
      content,
    ]);
  }

  async requeue(request: PageRequest): Promise<Answer> {
    const outcome = await this.deadLetters.requeue(request);
    if ('preview' in outcome) {
      return this.frame.show(request, { title: 'Dry run', nav: 'letters' }, outcome.preview);
    }
    const { topic, refusal } = outcome;
    const back = request.links.to('letters', { topic });
    if (refusal)
      return this.frame.refuse(request, refusal.status, refusal.title, refusal.detail, back);
    return seeOther(request.links.to('letters', { topic, done: 'requeue' }));
  }
}

const ANY = { scope: null, key: null, route: null, olderThan: null, youngerThan: null };
