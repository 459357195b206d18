import type { CallHandler, ExecutionContext } from '@nestjs/common';
import type { Observable } from 'rxjs';
import type { EntryKind } from '../policy/handler-kinds.js';
import type { ResolvedPolicy } from '../policy/resolve-policy.js';

/** An idempotent handler that no HTTP request calls, with everything that is known at boot. */
export interface IdempotentEntry {
  kind: EntryKind;
  /** Class and method. No two handlers have the same: it is part of the key's record. */
  name: string;
  /** The patterns of a message handler, or the name of a mutation, for people. */
  patterns: readonly string[];
  policy: ResolvedPolicy;
  /** How many handlers get a message with one of the patterns: all those of an event. */
  handlers: ReadonlyMap<string, number>;
}

/** The protocol for one type of execution context. Each is built on the CallRunner. */
export interface Entrance {
  intercept(
    context: ExecutionContext,
    entry: IdempotentEntry,
    next: CallHandler,
  ): Promise<Observable<unknown>>;
}
