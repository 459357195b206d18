import { Injectable, type CallHandler, type ExecutionContext } from '@nestjs/common';
import { of, type Observable } from 'rxjs';
import { CallRunner } from '../calls/call-runner.js';
import type { Entrance, IdempotentEntry } from '../calls/idempotent-entry.js';
import { keyedMessage } from './keyed-message.js';

/** The protocol for messages: key, decide, run or replay or refuse, record, answer. */
@Injectable()
export class Messages implements Entrance {
  constructor(private readonly runner: CallRunner) {}

  async intercept(
    context: ExecutionContext,
    entry: IdempotentEntry,
    next: CallHandler,
  ): Promise<Observable<unknown>> {
    const { policy, kind } = entry;
    const request = await keyedMessage(context, entry);
    const withoutResult = kind === 'event';
    const end = await this.runner.handle({ request, policy, next, withoutResult });
    if ('error' in end) throw end.error;
    return of(end.value);
  }
}
