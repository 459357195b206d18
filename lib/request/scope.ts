import { Logger, type ExecutionContext } from '@nestjs/common';
import type { ScopeOption } from '../idempotency.options.js';
import { IdempotencyProblem } from '../response/problems.js';

const logger = new Logger('IdempotencyModule');

/** The scope of a request. It is a column of its own, never joined to the key, so two scopes cannot meet. */
export async function readScope(
  scope: ScopeOption,
  request: unknown,
  context: ExecutionContext,
): Promise<string> {
  if (scope === 'global') return '';
  const value: unknown = await scope(request, context);
  if (typeof value === 'string' && value !== '' && !value.includes('\0')) return value;
  logger.error(
    `The scope option returned ${JSON.stringify(value) ?? 'undefined'} for ${context.getClass().name}.${context.getHandler().name}, so the request was refused: ` +
      'without a scope one caller could receive the answer of another. Return a stable, non-empty string for the authenticated caller ' +
      "(interceptors run after guards, so what a guard put on the request is there), or use scope: 'global' if there is only one caller.",
  );
  throw new IdempotencyProblem(
    'scope_missing',
    'The server could not tell whose Idempotency-Key this is, so it did not process the request.',
  );
}
