import type { ExecutionContext } from '@nestjs/common';
import type { AuthenticatedRequest } from './bearer-token.guard.js';

/** The HTTP request, which a mutation has in its context. */
export function requestOf(context: ExecutionContext): AuthenticatedRequest {
  if (context.getType<string>() !== 'graphql') return context.switchToHttp().getRequest();
  const { req } = context.getArgByIndex<{ req: AuthenticatedRequest }>(2);
  return req;
}
