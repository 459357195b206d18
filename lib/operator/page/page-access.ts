import { inspect } from 'node:util';
import { Logger } from '@nestjs/common';
import {
  OPERATOR_ACTIONS,
  type OperatorAccess,
  type OperatorAction,
  type OperatorIntent,
  type OperatorPageOptions,
} from './page.options.js';

/** Whoever sent a request, as the page knows them. */
export interface Visitor {
  /** Undefined where there are guards only: nobody is named, so nothing can be changed. */
  who: string | undefined;
  may(action: OperatorAction): boolean;
}

const UNNAMED: Visitor = { who: undefined, may: () => false };

const CURE =
  "Return { who: 'a name', may: 'all' | 'read' | ['retry', …] }, or undefined for nobody.";

/** Asks the `access` option. What is not understood gives no access. */
export class PageAccess {
  private readonly logger = new Logger('IdempotencyOperatorPage');

  constructor(private readonly access: OperatorPageOptions['access']) {}

  /** False where there are guards only. */
  get namesPeople(): boolean {
    return this.access !== undefined;
  }

  /** Undefined: nobody whom the page is for. */
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

  /** Who may do this one thing; undefined where they may not. */
  async authorise(request: unknown, intent: OperatorIntent): Promise<string | undefined> {
    const visitor = await this.visitor(request, intent);
    return visitor?.may(intent.action) ? visitor.who : undefined;
  }
}

/** Names are not shown: whoever returns the whole user by mistake would find it in the logs. */
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
