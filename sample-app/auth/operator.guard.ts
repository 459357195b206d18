import { timingSafeEqual } from 'node:crypto';
import { UnauthorizedException, type CanActivate, type ExecutionContext } from '@nestjs/common';

/** A request after the guard. */
export interface OperatorRequest {
  headers: { authorization?: string };
  operator?: string;
}

/**
 * Lets in whoever knows the operators' password; the browser asks for it. A real
 * app would use the sessions of its own staff here, with a name for each person.
 */
export class OperatorGuard implements CanActivate {
  constructor(private readonly password: string) {}

  canActivate(context: ExecutionContext): boolean {
    const http = context.switchToHttp();
    const request = http.getRequest<OperatorRequest>();
    const [, encoded = ''] = /^Basic (\S+)$/i.exec(request.headers.authorization ?? '') ?? [];
    const [name = '', ...rest] = Buffer.from(encoded, 'base64').toString().split(':');
    if (name !== '' && isSame(rest.join(':'), this.password)) {
      request.operator = name;
      return true;
    }
    http
      .getResponse<{ header(name: string, value: string): void }>()
      .header('WWW-Authenticate', 'Basic realm="operators of Rocket Rides", charset="UTF-8"');
    throw new UnauthorizedException('Only operators may come in here.');
  }
}

function isSame(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}
