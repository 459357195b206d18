import type { Answer } from '../../answers/answer.js';
import type { Outbox } from '../../outbox/outbox.js';
import type { AuditQueries } from '../audit-queries.js';
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
import type { MessageQueries } from './message-queries.js';
import type { PageQueries } from './page-queries.js';
import type { PageRequest } from './page-request.js';
import type { OperatorPageOptions } from './page.options.js';
import { ShownValues } from './shown-values.js';
import type { UnknownQueries } from './unknown-queries.js';

/** How many unknown keys the overview shows, and a list has on a page. */
const ON_OVERVIEW = 20;
const ON_PAGE = 50;

/** The reads of the page. */
export interface OperatorPageQueries {
  counts: PageQueries;
  unknown: UnknownQueries;
  messages: MessageQueries;
  audit: AuditQueries;
}

/** Every page of the operator page, and every action on it: from a request to an answer. */
export class OperatorPage {
  readonly access: PageAccess;
  readonly frame: Frame;
  readonly key: KeyPages;
  readonly letters: DeadLetters;
  private readonly lists: KeyLists;
  private readonly bulkActions: Bulk;

  constructor(
    options: OperatorPageOptions,
    operator: IdempotencyOperator,
    private readonly queries: OperatorPageQueries,
    private readonly jobs: JobReports,
    outbox: Outbox,
  ) {
    const values = new ShownValues(options);
    this.access = new PageAccess(options.access);
    this.frame = new Frame(options.environment, this.access);
    this.lists = new KeyLists(operator, queries.unknown);
    const decider = new Decider(operator, this.access);
    this.key = new KeyPages(operator, this.access, decider, values, this.frame);
    this.bulkActions = new Bulk(operator, this.lists, decider, this.access);
    this.letters = new DeadLetters(outbox, queries, this.access, values, this.frame);
  }

  async overview(request: PageRequest): Promise<Answer> {
    const { counts } = this.queries;
    const { keys: unknown } = await this.queries.unknown.page(ANY, undefined, ON_OVERVIEW);
    const overview = {
      unknown,
      ...(await counts.countUnknown()),
      resumable: await counts.countResumable(),
      recent: await counts.recent(),
      outbox: await counts.outboxLag(),
      letters: await counts.countDeadLetters(),
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

  /** Shows a dry run first, then acts. */
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
}

const ANY = { scope: null, key: null, route: null, olderThan: null, youngerThan: null };
