import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { requestOf } from './request-of.js';

/** The user that `BearerTokenGuard` has let in. */
export const CurrentUser = createParamDecorator(
  (_: unknown, context: ExecutionContext) => requestOf(context).user,
);
