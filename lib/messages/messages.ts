import { Logger, type CallHandler, type ExecutionContext } from '@nestjs/common';
import { lastValueFrom, NEVER, of, throwError, type Observable } from 'rxjs';
import type { CallRunner } from '../calls/call-runner.js';
import type { Entrance, IdempotentEntry } from '../calls/idempotent-entry.js';
import { IdempotencyRefusedError } from '../calls/refused-call.error.js';
import { playDead } from '../faults/fault-points.js';
import { BurstLog } from '../telemetry/burst-log.js';
import { errorLine } from '../telemetry/error-line.js';
import { Observation } from '../telemetry/observation.js';
import { keyedMessage } from './keyed-message.js';
import { messageKey, messageKeyMissing } from './message-key.js';
import { microservices, type Microservices } from './microservices.js';
import { receivedMessage, type ReceivedMessage } from './received-message.js';
import { refusalFor, rpcErrors } from './rpc-errors.js';
import { Settlements } from './settlements.js';
import { verdictOf, verdictOfRefusal, verdictOfUnkeyed, type Verdict } from './verdict.js';

/** How a message ended here, and what is to become of it. */
interface Processed {
  verdict: Verdict;
  value?: unknown;
  /** What its handler threw, or why it was not run. */
  error?: unknown;
}

/**
 * The protocol for messages, top to bottom: key, scope and fingerprint, run or replay or
 * refuse, settle, answer.
 */
export class Messages implements Entrance {
  private readonly settlements = new Settlements();
  private readonly logger = new Logger('IdempotencyModule');
  private readonly log = new BurstLog((line) => this.logger.error(line));

  /** @param header the name of the module's header, which messages may have as well */
  constructor(
    private readonly runner: CallRunner,
    private readonly header: string,
  ) {}

  async intercept(
    context: ExecutionContext,
    entry: IdempotentEntry,
    next: CallHandler,
  ): Promise<Observable<unknown>> {
    const nest = await microservices();
    const message = receivedMessage(context, entry);
    this.settlements.check(message, entry);
    const processed = await this.process(message, entry, next, nest);
    this.settlements.settle(message, entry, processed.verdict);
    return this.answer(message, entry, processed, nest);
  }

  private async process(
    message: ReceivedMessage,
    entry: IdempotentEntry,
    next: CallHandler,
    nest: Microservices,
  ): Promise<Processed> {
    const { policy, kind, name } = entry;
    const observed = new Observation(name);
    try {
      const key = this.keyOf(message, entry);
      if (key === undefined) return await this.unkeyed(message, entry, next);
      const request = await keyedMessage(key, message, entry, observed).catch((error: unknown) =>
        this.runner.refuse({ observed }, error),
      );
      const end = await this.runner.handle({
        request,
        policy,
        next,
        errors: rpcErrors(nest),
        withoutResult: kind === 'event',
      });
      return { ...end, verdict: verdictOf(end, message) };
    } catch (error) {
      return await this.failed(message, observed, error);
    }
  }

  /** Undefined: it has none, and needs none. */
  private keyOf(message: ReceivedMessage, { policy }: IdempotentEntry): string | undefined {
    if (policy.skip?.(message.payload, message.context)) return undefined;
    const key = messageKey(message, policy, this.header);
    if (key === undefined && policy.required) throw messageKeyMissing(policy, this.header);
    return key;
  }

  private async unkeyed(
    message: ReceivedMessage,
    { name, policy }: IdempotentEntry,
    next: CallHandler,
  ): Promise<Processed> {
    try {
      const running = this.runner.unkeyed(name, policy, next);
      const value: unknown = await lastValueFrom(running, { defaultValue: undefined });
      return { value, verdict: { kind: 'done' } };
    } catch (error) {
      return { error, verdict: verdictOfUnkeyed(error, message) };
    }
  }

  private async failed(
    message: ReceivedMessage,
    observed: Observation,
    error: unknown,
  ): Promise<Processed> {
    const dead = playDead(error);
    if (dead) return dead;
    if (error instanceof IdempotencyRefusedError) {
      return { error, verdict: verdictOfRefusal(error, message) };
    }
    try {
      return this.runner.refuse({ observed }, error);
    } catch (known) {
      const refused = known instanceof IdempotencyRefusedError;
      const verdict = refused ? verdictOfRefusal(known, message) : verdictOfUnkeyed(known, message);
      return { error: known, verdict };
    }
  }

  /** What Nest gets: its servers answer with it, and Kafka's decides by it what comes again. */
  private answer(
    message: ReceivedMessage,
    { name, policy }: IdempotentEntry,
    processed: Processed,
    nest: Microservices,
  ): Observable<unknown> {
    if (!('error' in processed)) return of(processed.value);
    const { error, verdict } = processed;
    const { transport, answered } = message;
    const refused = error instanceof IdempotencyRefusedError;
    const thrown = refused ? refusalFor(message, error, nest) : error;
    this.note(name, processed);
    if (verdict.kind === 'again' && policy.settle && refused) {
      // It comes again, and its sender, if one waits, gets the answer of that delivery.
      return answered ? NEVER : of(undefined);
    }
    if (transport === 'kafka') {
      if (verdict.kind === 'again') {
        const again = new nest.KafkaRetriableException(errorLine(thrown));
        return throwError(() => Object.assign(again, { cause: error }));
      }
      // Whatever an event ends with, an error would make Kafka deliver it for ever.
      if (!answered) return of(undefined);
    }
    return throwError(() => thrown);
  }

  /** What operators can act on, one line for a burst. */
  private note(name: string, { error, verdict }: Processed): void {
    const { code } = error as { code?: unknown };
    if (verdict.kind === 'refused') {
      this.log.note(
        `${name} refused`,
        () =>
          `${name} is done with a message that it did not carry out, and no further delivery would change that: ${errorLine(error)}`,
      );
    } else if (error instanceof IdempotencyRefusedError && code === 'store_unavailable') {
      this.log.note(`${name} store`, () => `${name}: ${errorLine(error)}`);
    }
  }
}
