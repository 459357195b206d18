import type { Attempt } from '../../keys/attempt.js';
import type { FaultPoint, HeldAnswer, SimulatedCrash } from '../../faults/fault-points.js';
import type { PhaseOutcome } from '../../telemetry/events.js';
import type { Misuse } from '../../telemetry/misuse.js';
import type { CrashSafetyRun } from '../crash-safety.report.js';
import type { Place } from '../verdict/user-line.js';
import type { OutgoingCall } from '../world/outgoing-call.js';
import type { Statement } from '../world/statements.js';
import type { Spot } from './disturbance.js';

/** Something that a guard or a PhaseUsageError has found. */
export interface NoticedMisuse extends Omit<Misuse, 'code'> {
  code: Misuse['code'] | 'statement_not_awaited' | 'call_not_awaited';
  place: Place;
  phase?: string | undefined;
}

/** How a phase ended in one attempt. */
export interface PhaseEnd {
  phase: string;
  attempt: number;
  outcome: PhaseOutcome;
  /** How many calls of the run had been seen by then. */
  calls: number;
}

/** Everything that is seen of one run while it goes on. */
export class RunRecord {
  keyId: string | undefined;
  /** Places that the request came to, in order. */
  readonly spots: Spot[] = [];
  readonly statements: Statement[] = [];
  /** Statements on the library's own tables by code of the handler, such as that of outbox.add(). */
  readonly ownStatements: Statement[] = [];
  readonly calls: OutgoingCall[] = [];
  readonly misuses: NoticedMisuse[] = [];
  /** What promises were rejected with that nobody awaited. */
  readonly rejections: unknown[] = [];
  /** What deliveries of messages failed with. */
  readonly deliveryErrors: { id: string; topic: string; error: string }[] = [];
  readonly phaseEnds: PhaseEnd[] = [];
  /** Phases whose call threw, in some attempt. */
  readonly failedCalls = new Set<string>();
  /** Where each phase was started, in the user's code. */
  readonly phasePlaces = new Map<string, Place>();
  readonly commits: CrashSafetyRun['commits'] = {};
  readonly effects: CrashSafetyRun['calls'] = {};
  /** By attempt: what it was about to record, and what its handler threw. */
  readonly held = new Map<number, { answer: HeldAnswer; error: unknown }>();
  /** How its process died. */
  crash: SimulatedCrash | undefined;
  /** Ends the client's connection, as the death of a process does. */
  readonly death = new AbortController();
  /** What was disturbed, if it came to that. */
  disturbed: { call?: OutgoingCall } | undefined;
  /** Goes up with everything that happens. */
  activity = 0;
  private readonly seen = new Map<string, number>();

  constructor(readonly key: string) {}

  /** Whether something is done for this run, and not for a request that it sends to the same application. */
  isOf(attempt: Attempt | undefined): attempt is Attempt {
    return attempt?.key === this.key && (this.keyId === undefined || attempt.id === this.keyId);
  }

  /** @param dies this is the last thing that the attempt does */
  addPoint(point: FaultPoint, dies: boolean): void {
    const { step, phase, effectKey, attempt, answer } = point;
    this.keyId ??= point.keyId;
    if (answer) this.held.set(attempt, { answer, error: point.error });
    if (phase === undefined) return;
    if (point.callFailed) this.failedCalls.add(phase);
    if (step === 'after_commit') this.commits[phase] = (this.commits[phase] ?? 0) + 1;
    if (step === 'after_intent' && effectKey !== undefined && !dies) {
      this.countEffect(phase, effectKey);
    }
  }

  /** The name of a place, told apart from earlier ones of the same attempt that look alike. */
  spotName(attempt: number, name: string): string {
    const id = `${attempt} ${name}`;
    const count = (this.seen.get(id) ?? 0) + 1;
    this.seen.set(id, count);
    return count === 1 ? name : `${name} #${count}`;
  }

  addSpot(spot: Spot): void {
    this.activity += 1;
    if (!this.spots.some(({ name }) => name === spot.name)) this.spots.push(spot);
  }

  /** The effect keys of a phase. */
  effectKeysOf(phase: string | undefined): string[] {
    return phase === undefined ? [] : (this.effects[phase] ?? []).map(({ effectKey }) => effectKey);
  }

  /** The phases in the order in which they came to an end. */
  get phases(): string[] {
    const ended = this.phaseEnds.filter(({ outcome }) => ENDED.has(outcome));
    return [...new Set(ended.map(({ phase }) => phase))];
  }

  private countEffect(phase: string, effectKey: string): void {
    const effects = (this.effects[phase] ??= []);
    const known = effects.find((effect) => effect.effectKey === effectKey);
    if (known) known.count += 1;
    else effects.push({ effectKey, count: 1 });
  }
}

const ENDED: ReadonlySet<PhaseOutcome> = new Set(['finished', 'recalled', 'rejected']);
