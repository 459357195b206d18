import { inspect } from 'node:util';
import type { CanActivate, Type } from '@nestjs/common';
import { isGuard } from '../../background/status.options.js';
import { IdempotencyConfigurationError } from '../../policy/configuration-error.js';
import { refuseUnknownNames, type Names } from '../../policy/unknown-names.js';

/** What can be done on the page. */
export const OPERATOR_ACTIONS = [
  'resolve',
  'retry',
  'expire',
  'evict',
  'hold',
  'release_hold',
  'requeue',
] as const;

export type OperatorAction = (typeof OPERATOR_ACTIONS)[number];

/** Who uses the page, and what they may do there. */
export interface OperatorAccess {
  /** The name that goes into the audit. */
  who: string;
  /** Everything, read only, or a list of actions. */
  may: 'all' | 'read' | readonly OperatorAction[];
}

/** What is about to be done, to one key or message, also in bulk. */
export interface OperatorIntent {
  action: OperatorAction;
  /** The key that it is done to; undefined for a message. */
  key?: { id: string; scope: string; endpoint: string; key: string; route: string | null };
  /** The dead letter that it is done to. Its scope is that of the request that added it. */
  message?: { scope: string; id: string; topic: string };
}

/** Where a value that is about to be shown comes from. */
export interface ShownValue {
  /** The kept request of the key, the request or the result of a phase, or the payload of a message. */
  kind: 'request' | 'phase_request' | 'phase_result' | 'payload';
  /** Who wants to see it; undefined if there are only guards. */
  who: string | undefined;
  /** The phase, for its request and its result. */
  phase?: string;
  /** The route of the key, for what belongs to one. */
  route?: string | null;
  /** The topic of the message, for its payload. */
  topic?: string;
}

/** A foreign call, as the page shows it. */
export interface ShownEffect {
  effectKey: string;
  phase: string;
  route: string | null;
  /** What the phase recorded as its request; not redacted. */
  request: unknown;
  /** What the call returned, where it is known; not redacted. */
  result: unknown;
}

export interface OperatorPageOptions {
  /** Where it is served, such as `'operator'`. A global prefix applies; versions do not. */
  path: string;

  /**
   * Guards that run before everything on the page, as classes or instances.
   * Guards on your own controllers do not run for it; global ones do.
   * @default none; then `access` is required
   */
  guards?: (CanActivate | Type<CanActivate>)[];

  /**
   * Returns who sends a request and what they may do; undefined denies access
   * (403). It is called for each request, and again for each key and message
   * right before it is changed, with what is about to be done. It may throw an
   * exception of Nest, which your filters answer.
   * @default none; then `guards` are required, and nothing can be changed on the page
   */
  // Requests differ between Express and Fastify and carry what guards put on them.
  access?: (
    request: any,
    intent?: OperatorIntent,
  ) => OperatorAccess | undefined | Promise<OperatorAccess | undefined>;

  /**
   * Shown on every page, so that nobody mistakes one environment for another. A
   * name that begins with "prod" is shown in red.
   * @default none
   */
  environment?: string;

  /**
   * What is shown in place of a request, a result or a payload. They are hidden
   * until somebody asks for them; this removes what nobody needs to see.
   * @default the value itself
   */
  redact?: (value: unknown, where: ShownValue) => unknown;

  /**
   * The address (http or https) of a foreign call in the other system's own
   * dashboard, where people find out what became of it.
   * @default no link
   */
  link?: (effect: ShownEffect) => string | undefined;
}

export const OPERATOR_PAGE_NAMES = {
  path: true,
  guards: true,
  access: true,
  environment: true,
  redact: true,
  link: true,
} satisfies Names<OperatorPageOptions>;

/** Refuses a page that everybody could open, or nobody. */
export function checkOperatorPage(given: unknown): void {
  if (given === undefined) return;
  if (typeof given !== 'object' || given === null) {
    throw mistake(`operatorPage is ${inspect(given)}. Use { path: 'operator', guards, access }.`);
  }
  refuseUnknownNames('forRoot options', given, OPERATOR_PAGE_NAMES, 'operatorPage.');
  const { path, guards, access, environment, redact, link } = given as Record<string, unknown>;
  if (typeof path !== 'string' || !/[^/]/.test(path) || /[?#*:(){}\s]/.test(path)) {
    throw mistake(
      `operatorPage.path is ${inspect(path)}. Use a path of its own, such as 'operator', without parameters.`,
    );
  }
  if (guards !== undefined && (!Array.isArray(guards) || !guards.every(isGuard))) {
    throw mistake(
      `operatorPage.guards is ${inspect(guards, { depth: 1 })}. Use a list of guards, such as [AdminGuard].`,
    );
  }
  for (const [name, value] of Object.entries({ access, redact, link })) {
    if (value !== undefined && typeof value !== 'function') {
      throw mistake(`operatorPage.${name} is ${inspect(value, { depth: 1 })}. Use a function.`);
    }
  }
  if (environment !== undefined && (typeof environment !== 'string' || environment === '')) {
    throw mistake(
      `operatorPage.environment is ${inspect(environment)}. Use a name, such as 'production'.`,
    );
  }
  if (access === undefined && (guards === undefined || (guards as unknown[]).length === 0)) {
    throw mistake(
      'operatorPage has neither guards nor access, so everybody could open it and decide about payments. ' +
        "Add access: (request) => request.user?.isAdmin ? { who: request.user.email, may: 'all' } : undefined, " +
        'and guards: [AuthGuard] if a guard has to find the user first. Global guards alone do not count: they may let everybody in.',
    );
  }
}

function mistake(message: string): IdempotencyConfigurationError {
  return new IdempotencyConfigurationError(`forRoot options: ${message}`);
}
