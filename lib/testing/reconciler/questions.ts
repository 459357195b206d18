import { isDeepStrictEqual } from 'node:util';
import {
  isReconciliation,
  kindOfAnswer,
  type DoubtfulEffect,
  type Reconciliation,
} from '../../phases/reconciler.js';
import { errorLine } from '../../telemetry/error-line.js';

/** What came of a question. */
export type Reply =
  | { kind: 'answer'; answer: Reconciliation }
  | { kind: 'invalid' | 'error' | 'timeout'; detail: string };

/** Asks the method itself, which the library would protect from its own errors. */
export async function ask(
  method: (effect: DoubtfulEffect) => unknown,
  effect: DoubtfulEffect,
  timeout: number,
): Promise<Reply> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Reply>((resolve) => {
    const detail = `no answer within ${timeout} ms`;
    timer = setTimeout(() => resolve({ kind: 'timeout', detail }), timeout);
  });
  try {
    return await Promise.race([replyOf(method, effect), late]);
  } finally {
    clearTimeout(timer);
  }
}

async function replyOf(
  method: (effect: DoubtfulEffect) => unknown,
  effect: DoubtfulEffect,
): Promise<Reply> {
  try {
    const answer: unknown = await method(effect);
    return isReconciliation(answer)
      ? { kind: 'answer', answer }
      : { kind: 'invalid', detail: kindOfAnswer(answer) };
  } catch (error) {
    return { kind: 'error', detail: errorLine(error) };
  }
}

/** As the table of runs shows it. */
export function shown(reply: Reply): string {
  return reply.kind === 'answer' ? reply.answer.outcome : reply.kind;
}

/** Whether two replies tell the same. */
export function sameReply(one: Reply, other: Reply): boolean {
  return isDeepStrictEqual(throughJson(one), throughJson(other));
}

/** As the phase would return it. */
export function throughJson(value: unknown): unknown {
  return value === undefined ? undefined : (JSON.parse(JSON.stringify(value)) as unknown);
}
