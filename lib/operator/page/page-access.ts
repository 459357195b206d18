import { inspect } from 'node:util';
import { Logger } from '@nestjs/common';
import {
  OPERATOR_ACTIONS,
  type OperatorAccess,
  type OperatorAction,
  type OperatorIntent,
  type OperatorPageOptions,
} from './page.options.js';

/** The person who sent a request. */
export interface Visitor {
  /** Undefined if there are only guards: nobody is named, so nothing can be changed. */
  who: string | undefined;
  may(action: OperatorAction): boolean;
}

const UNNAMED: Visitor = { who: undefined, may: () => false };

const CURE =
  "Return { who: 'a name', may: 'all' | 'read' | ['retry', …] }, or undefined for nobody.";

/** Calls the `access` option. An invalid result gives no access. */
export class PageAccess {
  private readonly logger = new Logger('IdempotencyOperatorPage');

  constructor(private readonly access: OperatorPageOptions['access']) {}

  /** False if there are only guards. */
  get namesPeople(): boolean {
    return this.access !== undefined;
  }

  /** Undefined: the person has no access. */
  async visitor(request: unknown, intent?: OperatorIntent): Promise<Visitor | undefined> {
    if (!this.access) return UNNAMED;
    const given: unknown = await this.access(request, intent);
    if (given === undefined || given === null) return undefined;
    const fault = faultOf(given);
    if (fault !== undefined) {
      this.logger.error(
        `operatorPage.access returned ${fault}, so the request was refused. ${CURE}`,
      );
      return undefined;
    }
    const { who, may } = given as OperatorAccess;
    return {
      who: who.trim(),
      may: (action) => may === 'all' || (may !== 'read' && may.includes(action)),
    };
  }

  /** The name of the person if they may do this; otherwise undefined. */
  async authorise(request: unknown, intent: OperatorIntent): Promise<string | undefined> {
    const visitor = await this.visitor(request, intent);
    return visitor?.may(intent.action) ? visitor.who : undefined;
  }
}

/** The page of a process that only reads: whoever may open it may read. */
export function onlyShown(options: OperatorPageOptions): OperatorPageOptions {
  const { access } = options;
  if (!access) return options;
  return {
    ...options,
    async access(request, intent) {
      const given = await access(request, intent);
      return given && faultOf(given) === undefined ? { ...given, may: 'read' } : given;
    },
  };
}

/** Values are not shown: somebody who returns a whole user by mistake would find it in the logs. */
function faultOf(given: unknown): string | undefined {
  if (typeof given !== 'object') return `a value of type ${typeof given}`;
  const { who, may } = given as { who?: unknown; may?: unknown };
  if (typeof who !== 'string' || who.trim() === '') return 'no name in "who"';
  if (may === 'all' || may === 'read') return undefined;
  if (!Array.isArray(may)) return `${inspect(may, { depth: 0 })} in "may"`;
  const wrong: unknown[] = may.filter((action) => !OPERATOR_ACTIONS.includes(action as never));
  return wrong.length === 0
    ? undefined
    : `actions in "may" that do not exist (there are ${OPERATOR_ACTIONS.join(', ')})`;
}
