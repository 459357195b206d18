import { randomUUID } from 'node:crypto';
import type { INestApplicationContext } from '@nestjs/common';
import { ReconcilerJob } from '../../background/reconciler-job.js';
import { ReconcilerStore } from '../../background/reconciler-store.js';
import { Reconcilers, type DoubtfulEffect } from '../../phases/reconciler.js';
import { milliseconds } from '../../policy/resolve-policy.js';
import { ResolutionStore } from '../../resolution/resolution-store.js';
import type { Change, EffectWatch } from '../changes/effect-watch.js';
import type { DoubtfulKeysStore } from './doubtful-keys-store.js';
import { ask, sameReply, shown, throughJson, type Reply } from './questions.js';
import type { ReconcilerOptions, ReconcilerRun } from './reconciler-options.js';
import { ReconcilerVerdict } from './reconciler-verdict.js';

const TIMEOUT = 10_000;

type Effect = Pick<DoubtfulEffect, 'idempotencyKey' | 'request'>;

/** Asks about calls that were made, were not, and are made later. */
export class ReconcilerKit {
  readonly runs: ReconcilerRun[] = [];
  readonly skipped: string[] = [];
  private readonly verdict = new ReconcilerVerdict();
  private readonly settledAfter: number;
  private number = 7_000;

  constructor(
    private readonly app: INestApplicationContext,
    private readonly method: (effect: DoubtfulEffect) => unknown,
    private readonly keys: DoubtfulKeysStore,
    private readonly effects: EffectWatch,
    private readonly options: ReconcilerOptions,
  ) {
    const { observe, settledAfter = '30d', breakProvider } = options;
    this.settledAfter = milliseconds('verifyReconciler', 'settledAfter', settledAfter);
    if (!observe) this.skipped.push('effects of the reconciler in the other system: give observe');
    if (!breakProvider) {
      this.skipped.push('answers while the other system fails: give breakProvider');
    }
  }

  get problems() {
    return this.verdict.problems.list;
  }

  async run(): Promise<void> {
    await this.verifyExecuted();
    await this.verifyNotYet();
    await this.verifyOtherCall();
    if (this.options.breakProvider) await this.verifyBroken(this.options.breakProvider);
    await this.verifyRecording();
  }

  private async verifyExecuted(): Promise<void> {
    const effect = this.effect();
    const { result, change } = await this.effects.during(() => this.execute(effect));
    if (this.options.observe && Object.values(change.counts).every((count) => count === 0)) {
      const message = 'execute changed no count of observe.';
      this.verdict.add('not_observed', 'the call', message);
    }
    const first = await this.ask('an executed call', effect);
    this.verdict.executed('an executed call', first, result);
    const again = await this.ask('the same call again', effect);
    this.compare('the same call again', first, again);
    const name = 'the same call, twice at the same time';
    const asking = () => this.reply(effect, new Date());
    const both = await this.effects.during(() => Promise.all([asking(), asking()]));
    this.judgeEffects(name, both.change);
    this.runs.push({ name, answer: both.result.map(shown).join(', ') });
    for (const reply of both.result) this.compare(name, first, reply);
  }

  /** The other system is slow: nothing is to be seen, and then it is. */
  private async verifyNotYet(): Promise<void> {
    const effect = this.effect();
    const settled = this.settledAfter === 0;
    const early = await this.askAbout('a call that is not found yet', effect);
    if (!early.acted) {
      this.verdict.notExecuted('a call that is not found yet', early.reply, settled);
    }
    const old = await this.askAbout('a call that is never found', this.effect(), this.settledAfter);
    if (!old.acted) this.verdict.notExecuted('a call that is never found', old.reply, true);
    if (early.acted || settled) return;
    const result = await this.execute(effect);
    const late = await this.ask('a call that is found at the second look', effect);
    this.verdict.executed('a call that is found at the second look', late, result);
  }

  private async verifyOtherCall(): Promise<void> {
    const effect = this.effect();
    await this.execute({ ...effect, idempotencyKey: randomUUID() });
    const name = 'a call like another one that was executed';
    const { reply, acted } = await this.askAbout(name, effect, this.settledAfter);
    if (!acted) this.verdict.notExecuted(name, reply, true, true);
  }

  private async verifyBroken(
    breakProvider: NonNullable<ReconcilerOptions['breakProvider']>,
  ): Promise<void> {
    const executed = this.effect();
    await this.execute(executed);
    const repair = await breakProvider();
    try {
      const name = 'an executed call, while the other system fails';
      this.verdict.broken(name, await this.ask(name, executed), true);
      const other = 'a call that was not executed, while the other system fails';
      const reply = await this.ask(other, this.effect(), this.settledAfter);
      this.verdict.broken(other, reply, false);
    } finally {
      await repair();
    }
  }

  /** The job asks about a key in the database, dies before it has written the answer down, and asks again. */
  private async verifyRecording(): Promise<void> {
    const { recoveryPoint } = this.options;
    const effect = this.effect();
    await this.execute(effect);
    const name = 'killed between the answer and its record';
    const expected = await this.reply(effect, new Date());
    const key = await this.keys.create(recoveryPoint, effect.idempotencyKey, effect.request);
    const { change } = await this.effects.during(async () => {
      await this.job({ resolvePhase: async () => undefined }).run(1_000);
      await this.keys.makeDue(key);
      await this.job(this.app.get(ResolutionStore, { strict: false })).run(1_000);
    });
    this.judgeEffects(name, change);
    const phase = await this.keys.phaseOf(key);
    const state = phase?.state === 'reconciled' ? 'executed' : (phase?.state ?? 'gone');
    this.runs.push({ name, answer: state });
    // What the answer itself has wrong was said before.
    if (expected.kind !== 'answer' || expected.answer.outcome !== 'executed') return;
    const recorded: unknown = phase?.result === undefined ? undefined : JSON.parse(phase.result);
    const reply = { kind: 'answer', answer: { outcome: 'executed', result: recorded } } as const;
    if (state === 'executed') this.compare(name, expected, reply);
    else {
      const message = `Its answer did not get on record: the call is ${state} there.`;
      this.verdict.add('not_recorded', name, message);
    }
  }

  private job(resolutions: Pick<ResolutionStore, 'resolvePhase'>): ReconcilerJob {
    const store = this.app.get(ReconcilerStore, { strict: false });
    const reconcilers = this.app.get(Reconcilers, { strict: false });
    const { recoveryPoint, timeout = TIMEOUT } = this.options;
    const asked = {
      recoveryPoints: [recoveryPoint],
      ask: (effect: DoubtfulEffect) => reconcilers.ask(effect),
    } as unknown as Reconcilers;
    const nobody = () => undefined;
    return new ReconcilerJob(
      store,
      resolutions as ResolutionStore,
      asked,
      Infinity,
      nobody,
      timeout,
    );
  }

  private effect(): Effect {
    const { request } = this.options;
    this.number += 1;
    const made: unknown = typeof request === 'function' ? request(this.number) : request;
    return { idempotencyKey: randomUUID(), request: throughJson(made) };
  }

  private async execute(effect: Effect): Promise<unknown> {
    return this.options.execute(effect);
  }

  private async ask(name: string, effect: Effect, age = 0): Promise<Reply> {
    return (await this.askAbout(name, effect, age)).reply;
  }

  /** @param age how long ago the call was made */
  private async askAbout(name: string, effect: Effect, age = 0) {
    const startedAt = new Date(Date.now() - age);
    const { result: reply, change } = await this.effects.during(() =>
      this.reply(effect, startedAt),
    );
    this.runs.push({ name, answer: shown(reply) });
    return { reply, acted: this.judgeEffects(name, change) };
  }

  private reply(effect: Effect, startedAt: Date): Promise<Reply> {
    const { recoveryPoint, timeout = TIMEOUT } = this.options;
    return ask(this.method, { ...effect, recoveryPoint, startedAt }, timeout);
  }

  /** Whether the question has changed anything. */
  private judgeEffects(name: string, { counts, rows }: Change): boolean {
    const moved = Object.entries(counts).filter(([, count]) => count !== 0);
    const changes = [
      ...moved.map(([count, by]) => `observe().${count} changed by ${by}`),
      ...rows.map(({ table, kind }) =>
        kind === 'truncated' ? `${table} was truncated` : `a row of ${table} was ${kind}`,
      ),
    ];
    if (changes.length === 0) return false;
    this.verdict.add('performs_effects', name, `Asking changed something: ${changes.join(', ')}.`);
    return true;
  }

  private compare(name: string, first: Reply, other: Reply): void {
    if (sameReply(first, other)) return;
    const message = `The same question was answered ${describe(first)}, and then ${describe(other)}.`;
    this.verdict.add('unstable', name, message);
  }
}

function describe(reply: Reply): string {
  return reply.kind === 'answer' ? JSON.stringify(reply.answer).slice(0, 120) : reply.detail;
}
