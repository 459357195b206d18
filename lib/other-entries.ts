import { Injectable, type CallHandler, type ExecutionContext } from '@nestjs/common';
import type { Observable } from 'rxjs';
import type { Entrance } from './calls/idempotent-entry.js';
import { Mutations } from './graphql/mutations.js';
import { IdempotentEntries } from './idempotency.entries.js';
import { Messages } from './messages/messages.js';

/** Hands calls that are no HTTP requests over to the room that knows their kind. */
@Injectable()
export class OtherEntries {
  private readonly entrances: Record<string, Entrance>;
  /** Calls that have been handled: a second interceptor on the same handler does nothing. */
  private readonly seen = new WeakSet<ExecutionContext>();

  constructor(
    private readonly entries: IdempotentEntries,
    messages: Messages,
    mutations: Mutations,
  ) {
    this.entrances = { rpc: messages, graphql: mutations };
  }

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const entry = this.entries.find(context);
    const entrance = this.entrances[context.getType<string>()];
    if (!entry || !entrance || this.seen.has(context)) return next.handle();
    this.seen.add(context);
    return entrance.intercept(context, entry, next);
  }
}
