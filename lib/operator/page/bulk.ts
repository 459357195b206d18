import type { KeySummary } from '../key-report.js';
import { isId } from '../key-search.js';
import type { SeenByPerson } from '../../resolution/operator-result.js';
import type { KeyStatus } from '../../schema/key-status.js';
import type { IdempotencyOperator } from '../idempotency-operator.js';
import type { ReasonedDecision } from './decision.js';
import { intentFor, type Decider } from './decider.js';
import { failureOf } from './failure.js';
import { filterIn, queryFrom } from './key-filter.js';
import type { KeyLists } from './key-lists.js';
import type { PageAccess } from './page-access.js';
import type { UnknownKey } from './unknown-queries.js';
import type { Fields } from './page-request.js';
import { predict, type PhaseTarget } from './prediction.js';
import { severalAtOnce } from './several-at-once.js';

/** A round takes a few seconds at most, well within the time-outs of proxies. */
export const BULK_LIMIT = 1_000;

/** Express parses forms of up to 100 KB, and the other fields need a part of it. */
const LONGEST_ITEMS = 64 * 1024;

export interface DryRun {
  /** How many keys would be changed. */
  possible: number;
  /** Why the others would not be changed, and how many. */
  refused: [string, number][];
  /** What would happen next, and to how many keys. */
  sentences: [string, number][];
  warnings: string[];
  /** There are more keys than one round takes. */
  more: boolean;
  /** The keys that would be changed, as they were seen: for the form. */
  items: string;
}

export interface BulkResult {
  asked: number;
  changed: number;
  refused: [string, number][];
}

/**
 * One decision for many keys. A dry run counts what would happen; after that,
 * exactly these keys are changed, if they are as they were seen, and no others
 * that match the search by then. Each is authorised, checked and audited by
 * itself.
 */
export class Bulk {
  constructor(
    private readonly operator: IdempotencyOperator,
    private readonly lists: KeyLists,
    private readonly decider: Decider,
    private readonly access: PageAccess,
  ) {}

  async dryRun(request: unknown, form: Fields, reasoned: ReasonedDecision): Promise<DryRun> {
    const { decision } = reasoned;
    const list = await this.lists.page(queryFrom(filterIn(form)), undefined, BULK_LIMIT);
    const refused = new Tally();
    const sentences = new Tally();
    const warnings = new Set<string>();
    const items: string[] = [];
    let length = 0;
    let cut = false;
    for (const key of list.keys) {
      const prediction = predict(key, decision, targetOf(key));
      if (!prediction.possible) refused.add(generalised(prediction.why, key));
      else if ((await this.access.authorise(request, intentFor(key, decision))) === undefined) {
        refused.add(`You may not ${decision.action} these.`);
      } else {
        const item = itemOf(key);
        length += encodeURIComponent(item).length + 3;
        if (length > LONGEST_ITEMS) {
          cut = true;
          break;
        }
        items.push(item);
        for (const sentence of prediction.next) sentences.add(generalised(sentence, key));
        for (const warning of prediction.warnings) warnings.add(warning);
      }
    }
    return {
      possible: items.length,
      refused: refused.entries,
      sentences: sentences.entries,
      warnings: [...warnings],
      more: cut || list.next !== undefined,
      items: items.join(' '),
    };
  }

  async carryOut(request: unknown, form: Fields, reasoned: ReasonedDecision): Promise<BulkResult> {
    const items = (form.text('items') ?? '').split(' ').flatMap(itemFrom).slice(0, BULK_LIMIT);
    const found = await this.operator.find({ id: items.map(({ id }) => id), limit: BULK_LIMIT });
    const keys = new Map(found.keys.map((key) => [key.id, key]));
    const refused = new Tally();
    let changed = 0;
    let decided = 0;
    // What was found may be outdated by now: the decision itself is fenced by what was seen.
    const decide = async ({ id, seen }: SeenItem) => {
      const key = keys.get(id);
      const effectKey = key?.inDoubt?.effectKey;
      const outcome = key
        ? await this.decider.decide(request, { key, effectKey, seen }, reasoned)
        : GONE;
      decided += 1;
      if (outcome.changed) changed += 1;
      else refused.add(REASONS[outcome.reason] ?? outcome.reason);
    };
    await severalAtOnce(items, decide).catch((error: unknown) => {
      refused.add(failureOf(error).detail, items.length - decided);
    });
    return { asked: items.length, changed, refused: refused.entries };
  }
}

interface SeenItem {
  id: string;
  seen: SeenByPerson;
}

const GONE = { changed: false, reason: 'not_found' } as const;

const REASONS: Record<string, string> = {
  forbidden: 'You may not do this to them.',
  changed_meanwhile: 'They have changed since the dry run.',
  running: 'An attempt runs them now.',
  lapsed: 'Their attempt died a moment ago.',
  not_in_doubt: 'No foreign call is in doubt any more.',
  not_found: 'They are gone.',
  held: 'They are held.',
  not_held: 'Nobody holds them.',
};

/** A key and how it was seen. */
function itemOf({ id, status, attempt }: KeySummary): string {
  return `${id}:${status}:${attempt}`;
}

function itemFrom(item: string): SeenItem[] {
  const [, id, status, attempt] = /^([^:\s]+):([a-z_]+):(\d{1,9})$/.exec(item) ?? [];
  if (!isId(id)) return [];
  return [{ id, seen: { status: status as KeyStatus, attempt: Number(attempt) } }];
}

function targetOf(key: KeySummary | UnknownKey): PhaseTarget | undefined {
  if (!key.inDoubt) return undefined;
  const { phase, effectKey } = key.inDoubt;
  const keyValidUntil = 'keyValidUntil' in key ? key.keyValidUntil : null;
  return { name: phase, state: 'intended', effectKey, keyValidUntil };
}

/**
 * Sentences that differ only in the recovery point are counted as one, or the
 * list would be as long as the keys.
 */
function generalised(sentence: string, { recoveryPoint }: KeySummary): string {
  return sentence.replace(`"${recoveryPoint}"`, 'they have reached');
}

/** How often each sentence came up, most often first. */
class Tally {
  private readonly counts = new Map<string, number>();

  add(sentence: string, times = 1): void {
    this.counts.set(sentence, (this.counts.get(sentence) ?? 0) + times);
  }

  get entries(): [string, number][] {
    return [...this.counts].sort(([, a], [, b]) => b - a);
  }
}
