import type { ExecutionContext } from '@nestjs/common';
import type { IncomingRequest } from '../request/incoming-request.js';
import type { Schema } from './recorded-error.js';

/** The parts of a document that are used here, as `graphql` 16 and 17 have them. */
interface SelectionSet {
  selections: readonly Selection[];
}
interface Selection {
  kind: string;
  /** Absent for an inline fragment. */
  name?: { value: string };
  alias?: { value: string };
  selectionSet?: SelectionSet;
}

/** The part of GraphQLResolveInfo that is used here. */
export interface ResolveInfo {
  fieldName: string;
  path: { key: string | number };
  operation: { selectionSet: SelectionSet };
  fragments: Record<string, { selectionSet: SelectionSet } | undefined>;
  schema: Schema;
}

/** The call of one root field. */
export interface Mutation {
  /** With variables and defaults applied, before pipes. */
  args: unknown;
  /** What the `context` option of GraphQLModule made. */
  context: unknown;
  info: ResolveInfo;
  /** What came in over HTTP, or the context of a WebSocket. Undefined where the context does not have it. */
  request: Partial<IncomingRequest> | undefined;
}

export function mutationOf(execution: ExecutionContext): Mutation {
  const [, args, context, info] = execution.getArgs<[unknown, unknown, unknown, ResolveInfo]>();
  return { args, context, info, request: requestIn(context) };
}

/** Both drivers put it there as `req`; Mercurius has it as a part of its reply as well. */
function requestIn(context: unknown): Mutation['request'] {
  const { req, request, reply } = (context ?? {}) as Record<string, unknown>;
  const found = req ?? request ?? (reply as { request?: unknown } | undefined)?.request;
  return typeof found === 'object' && found !== null ? found : undefined;
}

/**
 * Which of the document's calls of this field it is, from 1. Not its alias: a client that
 * renames it in a retry would run it a second time. What `@skip` leaves out is counted as
 * well, so that the places stay the same whatever the variables say.
 */
export function placeOf({ fieldName, path, operation, fragments }: ResolveInfo): number {
  const fields = new Map<string, string>();
  collect(operation.selectionSet, fragments, fields, new Set());
  const calls = [...fields].filter(([, field]) => field === fieldName);
  return calls.findIndex(([responseName]) => responseName === path.key) + 1;
}

/** Field names by the names they have in the response, in the order of the document. */
function collect(
  { selections }: SelectionSet,
  fragments: ResolveInfo['fragments'],
  fields: Map<string, string>,
  spread: Set<string>,
): void {
  for (const { kind, name, alias, selectionSet } of selections) {
    if (kind === 'Field') {
      const responseName = alias ?? name!;
      if (!fields.has(responseName.value)) fields.set(responseName.value, name!.value);
    } else if (name === undefined) {
      collect(selectionSet!, fragments, fields, spread);
    } else if (!spread.has(name.value)) {
      spread.add(name.value);
      const fragment = fragments[name.value];
      if (fragment) collect(fragment.selectionSet, fragments, fields, spread);
    }
  }
}
