import type { FaultPoint } from '../faults/fault-points.js';
import type { CrashSafetyRun } from './crash-safety.js';

/** Counts what the attempts of one key do, as its fault points tell it. */
export class Tally {
  readonly points: string[] = [];
  readonly commits: CrashSafetyRun['commits'] = {};
  readonly calls: CrashSafetyRun['calls'] = {};

  /** `dies`: this is the last thing that the attempt does. */
  add({ name, step, phase, effectKey }: FaultPoint, dies: boolean): void {
    if (!this.points.includes(name)) this.points.push(name);
    if (phase === undefined) return;
    if (step === 'after_commit') this.commits[phase] = (this.commits[phase] ?? 0) + 1;
    if (step === 'after_intent' && effectKey !== undefined && !dies) {
      this.countCall(phase, effectKey);
    }
  }

  get problems(): string[] {
    const problems: string[] = [];
    for (const [phase, count] of Object.entries(this.commits)) {
      if (count > 1) problems.push(`phase "${phase}" was committed ${count} times`);
    }
    for (const [phase, calls] of Object.entries(this.calls)) {
      if (calls.length > 1) {
        problems.push(
          `phase "${phase}" was called under ${calls.length} effect keys: ${calls.map((call) => call.effectKey).join(', ')}`,
        );
      }
    }
    return problems;
  }

  private countCall(phase: string, effectKey: string): void {
    const calls = (this.calls[phase] ??= []);
    const known = calls.find((call) => call.effectKey === effectKey);
    if (known) known.count += 1;
    else calls.push({ effectKey, count: 1 });
  }
}
