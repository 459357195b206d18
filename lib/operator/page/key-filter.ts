import type { KeyStatus } from '../../schema/key-status.js';
import type { KeyQuery } from '../key-report.js';
import { searchOf } from '../key-search.js';
import { FormFault } from './decision.js';
import type { Fields } from './page-request.js';

/** The fields of the search form. */
export const FILTER_FIELDS = [
  'status',
  'scope',
  'key',
  'effect',
  'id',
  'route',
  'held',
  'older',
  'younger',
] as const;

export type FilterTexts = Partial<Record<(typeof FILTER_FIELDS)[number], string>>;

export function filterIn(fields: Fields): FilterTexts {
  const texts: FilterTexts = {};
  for (const name of FILTER_FIELDS) {
    const text = fields.text(name);
    if (text !== undefined) texts[name] = text;
  }
  return texts;
}

/** Throws a fault that names the invalid field. */
export function queryFrom(filter: FilterTexts): KeyQuery {
  const { status, scope, key, effect, id, route, held, older, younger } = filter;
  const query: KeyQuery = {
    ...(status !== undefined && { status: status as KeyStatus }),
    ...(scope !== undefined && { scope }),
    ...(key !== undefined && { key }),
    ...(effect !== undefined && { effectKey: effect }),
    ...(id !== undefined && { id }),
    ...(route !== undefined && { route: withoutMethod(route) }),
    ...(held !== undefined && { held: held === 'yes' }),
    ...(older !== undefined && { olderThan: older }),
    ...(younger !== undefined && { youngerThan: younger }),
  };
  try {
    searchOf(query);
  } catch (error) {
    throw new FormFault((error as Error).message);
  }
  return query;
}

/** Unknown keys have their own index; a search that names a key has a better one. */
export function isOfUnknown({ status, effectKey, id, scope, key, held }: KeyQuery): boolean {
  const named =
    effectKey !== undefined || id !== undefined || (scope !== undefined && key !== undefined);
  return status === 'unknown' && held === undefined && !named;
}

/** People copy "POST /rides" from the page. */
function withoutMethod(route: string): string {
  return route.replace(/^[A-Z]+ +(?=\/)/, '');
}
