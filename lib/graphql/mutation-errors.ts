import { HttpException } from '@nestjs/common';
import type { DefiniteErrors } from '../calls/definite-errors.js';
import {
  errorFrom,
  errorMembers,
  graphqlErrorOf,
  statusOf,
  type ErrorMembers,
  type Schema,
} from './recorded-error.js';

/** The errors of mutations. A replay throws them again, for the same filters and `formatError`. */
export class MutationErrors implements DefiniteErrors {
  readonly name = 'graphqlError';

  constructor(private readonly schema: Schema) {}

  keep(error: unknown): { status: number; kept: ErrorMembers } | undefined {
    if (error instanceof HttpException || !(error instanceof Error)) return undefined;
    return { status: statusOf(error), kept: errorMembers(error) };
  }

  revive(kept: unknown): Error {
    const members = kept as ErrorMembers;
    return members.extensions === undefined && members.name !== 'GraphQLError'
      ? errorFrom(members)
      : errorFrom(members, graphqlErrorOf(this.schema));
  }
}
