import {
  Injectable,
  UnauthorizedException,
  type CanActivate,
  type ExecutionContext,
} from '@nestjs/common';
import { requestOf } from './request-of.js';
import { userWithToken, type User } from './user.js';

/** The part of a request that Express and Fastify have in common, and what the guard adds. */
export interface AuthenticatedRequest {
  headers: { authorization?: string };
  user?: User;
}

/** Guards run before interceptors, so the user is known when a key's scope is asked for. */
@Injectable()
export class BearerTokenGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = requestOf(context);
    const [, token] = /^Bearer (\S+)$/i.exec(request.headers.authorization ?? '') ?? [];
    request.user = token === undefined ? undefined : userWithToken(token);
    if (!request.user) {
      throw new UnauthorizedException('Send "Authorization: Bearer <token of a user>".');
    }
    return true;
  }
}
