import { setTimeout as pause } from 'node:timers/promises';
import {
  crashIn,
  observeFaultPoints,
  SimulatedCrash,
  SimulatedFailure,
  type FaultPoint,
} from '../../faults/fault-points.js';
import type { Attempt } from '../../keys/attempt.js';
import { requestContext } from '../../phases/request-context.js';
import { watchMisuse, type Misuse } from '../../telemetry/misuse.js';
import { onIdempotencyEvent } from '../../telemetry/publish.js';
import type { DataSource } from 'typeorm';
import { here } from '../verdict/user-line.js';
import type { OutgoingCall } from '../world/outgoing-call.js';
import { watchCalls, type CallObserver } from '../world/outgoing-calls.js';
import type { Interference } from '../world/socket-tap.js';
import { watchRejections } from '../world/rejections.js';
import {
  isOwnStep,
  watchStatements,
  type Statement,
  type StatementObserver,
} from '../world/statements.js';
import type { Disturbance, Spot } from './disturbance.js';
import { Hold } from './hold.js';
import type { RunRecord } from './run-record.js';

/** Long enough for a promise that nobody awaits to be overtaken by the handler's end. */
const SLOW_STEP = 10;

const BAD_GATEWAY =
  'HTTP/1.1 502 Bad Gateway\r\ncontent-type: text/plain\r\ncontent-length: 11\r\nconnection: close\r\n\r\nbad gateway';

/** Sees all that the handler does, notes it in the record of the run, and makes happen what the run is about. */
export class Director implements StatementObserver, CallObserver {
  private record: RunRecord | undefined;
  private disturbance: Disturbance = { kind: 'none' };
  private hold = new Hold();
  private readonly dead = new Set<string>();
  private readonly undo: (() => void)[];
  /** Messages of the outbox are being delivered, by a run that is about them. */
  delivering: 'undisturbed' | 'answers lost' | undefined;

  constructor(
    dataSources: readonly DataSource[],
    private readonly isOwnTable: (sql: string) => boolean,
    private readonly isIgnoredHost: (origin: string) => boolean,
  ) {
    this.undo = [
      observeFaultPoints((point) => this.onPoint(point)),
      watchStatements(dataSources, this),
      watchCalls(this),
      watchRejections((reason) => this.onRejection(reason)),
      watchMisuse((misuse) => this.onMisuse(misuse)),
      onIdempotencyEvent('phase_started', ({ id, phase }) => {
        const { record } = this;
        if (record && id === record.keyId && !record.phasePlaces.has(phase)) {
          record.phasePlaces.set(phase, here());
        }
      }),
      ...(['outbox_failed', 'outbox_dead'] as const).map((name) =>
        onIdempotencyEvent(name, ({ id, topic, error }) => {
          if (this.delivering === 'undisturbed')
            this.record?.deliveryErrors.push({ id, topic, error });
        }),
      ),
      ...(['phase_finished', 'phase_failed'] as const).map((name) =>
        onIdempotencyEvent(name, ({ id, phase, attempt = 1, outcome }) => {
          const { record } = this;
          if (!record || id !== record.keyId) return;
          record.phaseEnds.push({ phase, attempt, outcome, calls: record.calls.length });
        }),
      ),
    ];
  }

  /** From now on, all that happens is of this run. */
  direct(record: RunRecord, disturbance: Disturbance): Hold {
    this.record = record;
    this.disturbance = disturbance;
    this.hold = new Hold();
    return this.hold;
  }

  close(): void {
    this.record = undefined;
    for (const undo of this.undo) undo();
  }

  afterStatement(statement: Statement): void {
    if (this.isPlace(statement)) {
      const { attempt, phase } = statement;
      this.dieIfPlanned('statement', 'after', statement.what, attempt!, phase, true);
    }
  }

  answered(call: OutgoingCall): Interference | undefined {
    const { record, disturbance } = this;
    const { attempt, phase, where } = call.by;
    if (where === 'delivery') return this.answeredDelivery(call);
    if (!record?.isOf(attempt) || call.kind !== 'http') return undefined;
    if (this.isIgnoredHost(call.origin)) return undefined;
    const name = this.placeName(record, attempt, phase, 'after', call.to);
    record.addSpot({
      kind: 'call',
      name,
      phase,
      inTransaction: where === 'transaction',
    });
    if (record.disturbed || !('at' in disturbance) || disturbance.at.name !== name)
      return undefined;
    record.disturbed = { call };
    switch (disturbance.kind) {
      case 'crash':
        return { lose: this.die(record, attempt, name) };
      case 'lost':
        return { lose: reset() };
      case 'failed':
        return { replace: BAD_GATEWAY };
      default:
        return undefined;
    }
  }

  private answeredDelivery({ kind, origin }: OutgoingCall): Interference | undefined {
    const lost = this.delivering === 'answers lost' && kind === 'http';
    return lost && !this.isIgnoredHost(origin) ? { lose: reset() } : undefined;
  }

  private async onPoint(point: FaultPoint): Promise<void> {
    const { record, disturbance } = this;
    if (!record || point.key !== record.key) return;
    // A request to the same application, under the same key, is another one.
    if (record.keyId !== undefined && point.keyId !== record.keyId) return;
    if (this.dead.has(idOf(point.keyId, point.attempt))) throw new SimulatedCrash(point.name);
    const { name, phase, step } = point;
    const isHere = !record.disturbed && 'at' in disturbance && disturbance.at.name === name;
    record.addPoint(point, isHere && disturbance.kind === 'crash');
    if (step === 'after_call') this.noticeUnanswered(record, phase!);
    record.addSpot({
      kind: 'step',
      name,
      phase,
      inTransaction: step === 'before_commit',
    });
    if (disturbance.kind === 'slow') await pause(SLOW_STEP);
    if (!isHere) return;
    record.disturbed = {};
    switch (disturbance.kind) {
      case 'crash':
        this.dead.add(idOf(point.keyId, point.attempt));
        throw this.crashOf(record, name);
      case 'lost':
      case 'failed':
        throw new SimulatedFailure('The answer of the other system got lost (simulated).');
      case 'zombie':
        await this.hold.wait();
    }
  }

  beforeStatement(statement: Statement): void {
    const { record } = this;
    if (!record) return;
    const { attempt, phase, what, text } = statement;
    if (attempt && this.isDead(attempt)) {
      // A dead process sends nothing; the server rolls back what it had begun.
      if (/^\s*ROLLBACK/i.test(text)) return;
      throw new SimulatedCrash(what);
    }
    record.activity += 1;
    if (this.isOwnTable(text)) {
      // Of these, only what adds a message is the handler's doing.
      record.ownStatements.push(statement);
      return;
    }
    record.statements.push(statement);
    if (this.isPlace(statement)) {
      this.dieIfPlanned('statement', 'before', what, attempt!, phase, true);
    }
  }

  beforeCall(call: OutgoingCall): Error | undefined {
    const { record } = this;
    const { attempt, phase, where } = call.by;
    if (!record) return undefined;
    if (attempt && this.isDead(attempt)) return new SimulatedCrash(call.to);
    record.activity += 1;
    if (this.isIgnoredHost(call.origin)) return undefined;
    record.calls.push(call);
    if (!record.isOf(attempt) || where === 'library' || call.kind !== 'http') return undefined;
    try {
      this.dieIfPlanned('call', 'before', call.to, attempt, phase, where === 'transaction');
      return undefined;
    } catch (error) {
      return error as Error;
    }
  }

  /** The call of a phase is through, and a request of it is not. */
  private noticeUnanswered(record: RunRecord, phase: string): void {
    if (this.disturbance.kind !== 'none') return;
    for (const call of record.calls) {
      if (call.by.phase !== phase || call.answered || call.kind !== 'http') continue;
      record.misuses.push({
        code: 'call_not_awaited',
        message: `The call of phase "${phase}" returned before ${call.to} had answered.`,
        place: call.by.place,
        phase,
      });
    }
  }

  /** The library is about to end the phase, and a statement of its work is still on its way. */
  overtaken(statement: Statement): void {
    const { record } = this;
    if (!record?.isOf(statement.attempt) || statement.past) return;
    record.misuses.push({
      code: 'statement_not_awaited',
      message: `The work of phase "${statement.phase}" returned before its statement (${statement.what}) had ended.`,
      place: statement.place,
      phase: statement.phase,
    });
  }

  private onMisuse(misuse: Misuse): void {
    if (misuse.origin !== undefined && this.isIgnoredHost(misuse.origin)) return;
    const phase = misuse.phase ?? requestContext.current?.phase?.name;
    this.record?.misuses.push({ ...misuse, place: here(), phase });
  }

  private onRejection(reason: unknown): boolean {
    // A crash is no error of anybody.
    if (!crashIn(reason)) this.record?.rejections.push(reason);
    return true;
  }

  private isPlace(statement: Statement): boolean {
    const { record } = this;
    return (
      record?.isOf(statement.attempt) === true &&
      statement.attempt!.began &&
      isOwnStep(statement) &&
      !this.isOwnTable(statement.text)
    );
  }

  private dieIfPlanned(
    kind: Spot['kind'],
    side: 'before' | 'after',
    what: string,
    attempt: Attempt,
    phase: string | undefined,
    inTransaction: boolean,
  ): void {
    const { record, disturbance } = this;
    if (!record) return;
    const name = this.placeName(record, attempt, phase, side, what);
    record.addSpot({
      kind,
      name,
      phase,
      inTransaction: inTransaction && phase !== undefined,
    });
    if (record.disturbed || disturbance.kind !== 'crash' || disturbance.at.name !== name) return;
    record.disturbed = {};
    throw this.die(record, attempt, name);
  }

  private placeName(
    record: RunRecord,
    attempt: Attempt,
    phase: string | undefined,
    side: string,
    what: string,
  ): string {
    return record.spotName(attempt.number, `${phase ?? 'handler'} › ${side} ${what}`);
  }

  private die(record: RunRecord, attempt: Attempt, name: string): SimulatedCrash {
    this.dead.add(idOf(attempt.id, attempt.number));
    attempt.loseLease(true);
    return this.crashOf(record, name);
  }

  private crashOf(record: RunRecord, name: string): SimulatedCrash {
    record.crash = new SimulatedCrash(name);
    record.death.abort();
    return record.crash;
  }

  private isDead(attempt: Attempt): boolean {
    return this.dead.has(idOf(attempt.id, attempt.number));
  }
}

function idOf(keyId: string, attempt: number): string {
  return `${keyId}/${attempt}`;
}

function reset(): Error {
  return Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', syscall: 'read' });
}
