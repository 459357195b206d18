import { setTimeout as pause } from 'node:timers/promises';
import type { Maintenance } from '../../background/maintenance.js';
import type { CrashSafetyOptions, CrashSafetyRequest } from '../crash-safety.options.js';
import type { KitAnswer } from '../crash-safety.report.js';
import type { KitClient } from '../kit-client.js';
import { nameOf, type Disturbance } from './disturbance.js';
import type { Hold } from './hold.js';
import type { KeyClockStore, KeyState } from './key-clock-store.js';
import type { RunRecord } from './run-record.js';

/** Longer than most systems remember an idempotency key. */
const A_DAY_LATER = 25;

/** What a handler leaves behind shows within a turn or two of the event loop. */
const SETTLING = 3;

/** What the requests of a run need. */
export interface RequestTools {
  client: KitClient;
  keys: KeyClockStore;
  maintenance: Maintenance;
  options: CrashSafetyOptions;
  timeout: number;
}

/** The requests of one run. */
export class Run {
  private readonly answers: (KitAnswer | undefined)[] = [];
  private state: KeyState | undefined;
  private replay: KitAnswer | undefined;
  private hung = false;
  private mourned = false;
  unwound = false;

  constructor(
    private readonly tools: RequestTools,
    private readonly record: RunRecord,
    private readonly disturbance: Disturbance,
    private readonly request: CrashSafetyRequest,
    private readonly unwindAtOnce: boolean,
    private readonly hold: Hold,
  ) {}

  get result() {
    const { answers, state, replay, hung, unwound, record } = this;
    const status = state?.status;
    return {
      outcome:
        status === 'completed' || status === 'expired'
          ? ('final' as const)
          : status === 'unknown'
            ? ('unknown' as const)
            : ('stuck' as const),
      answer: answers.at(-1),
      answers,
      replay,
      hung,
      unwound,
      resumable: state?.operation !== null && state?.operation !== undefined,
      unseen: record.keyId === undefined && state === undefined,
    };
  }

  async goThrough(): Promise<void> {
    const first = this.first();
    if (this.disturbance.kind === 'zombie') {
      await Promise.race([this.hold.arrived, first]);
      if (this.record.disturbed) await this.beside();
      this.hold.release();
    }
    await first;
    await this.look();
    await this.retryUntilOver();
    if (this.isFinal && !this.hung) this.replay = await this.send();
    await this.settle();
  }

  /** A second attempt, while the first one stands still past its lease. */
  private async beside(): Promise<void> {
    await this.lapse();
    await this.meanwhile();
    await this.look();
    await this.retryUntilOver();
  }

  /** Once: what happens between the crash and the first retry. */
  private async afterCrash(): Promise<void> {
    if (this.mourned) return;
    this.mourned = true;
    const { keys } = this.tools;
    const next = this.disturbance.kind === 'crash' ? this.disturbance.next : 'client';
    if (this.unwindAtOnce) await this.unwind();
    await this.lapse();
    if (next === 'client a day later' && this.state) await keys.age(this.state.id, A_DAY_LATER);
    await this.meanwhile();
    if (next === 'worker') await this.workersTurn();
    await this.look();
  }

  /** What the jobs would do in a while: find the dead attempt, and complete its operation. */
  private async workersTurn(): Promise<void> {
    const { maintenance } = this.tools;
    await maintenance.runOnce('sweeper');
    await this.lapse();
    await maintenance.runOnce('completer');
  }

  private async retryUntilOver(): Promise<void> {
    const most = (this.tools.options.retries ?? 10) + 1;
    // Also where all is on record: the client has not seen an answer yet.
    while (
      (!this.isOver || this.answers.at(-1) === undefined) &&
      !this.hung &&
      this.answers.length < most
    ) {
      // Nobody has to wait for the lease of an attempt that is over, or stands still.
      if (this.record.crash) await this.afterCrash();
      if (this.record.disturbed) await this.lapse();
      if (this.answers.at(-1)?.status === 202) await this.workersTurn();
      this.answers.push(await this.send());
      await this.look();
    }
  }

  private get isFinal(): boolean {
    return this.state?.status === 'completed' || this.state?.status === 'expired';
  }

  private get isOver(): boolean {
    // Nobody knows the key: there is nothing to be retried.
    return this.isFinal || this.state?.status === 'unknown' || this.state === undefined;
  }

  private async first(): Promise<void> {
    const index = this.answers.push(undefined) - 1;
    this.answers[index] = await this.send();
  }

  private async send(): Promise<KitAnswer | undefined> {
    const { client, timeout } = this.tools;
    // A dead process answers nothing: the client's connection breaks with it.
    const death = this.record.crash ? undefined : this.record.death.signal;
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), timeout);
    const patience = setTimeout(() => void this.unwind(), timeout / 2);
    try {
      const signals = death ? [late.signal, death] : [late.signal];
      return await client.send(this.request, this.record.key, AbortSignal.any(signals));
    } catch (error) {
      if (late.signal.aborted) this.hung = true;
      else if (!death?.aborted) throw error;
      return undefined;
    } finally {
      clearTimeout(timer);
      clearTimeout(patience);
    }
  }

  /** Lets the dead attempt's own code free what it holds in memory; one that stands still goes on. */
  private async unwind(): Promise<void> {
    const { crash } = this.record;
    this.hold.release();
    if (!crash) return;
    if (!this.unwindAtOnce) this.unwound = true;
    crash.unwind();
    await pause(1);
  }

  private async lapse(): Promise<void> {
    this.state ??= await this.find();
    if (this.state) await this.tools.keys.lapse(this.state.id);
  }

  private async look(): Promise<void> {
    this.state = await this.find();
  }

  private find(): Promise<KeyState | undefined> {
    return this.tools.keys.find(this.record.key, this.record.keyId);
  }

  private async meanwhile(): Promise<void> {
    const { key } = this.record;
    await this.tools.options.meanwhile?.({ key, disturbance: nameOf(this.disturbance) });
  }

  /** What the handler did not await goes on for a moment. */
  private async settle(): Promise<void> {
    for (let round = 0, seen = -1; round < 20 && seen !== this.record.activity; round++) {
      seen = this.record.activity;
      await pause(SETTLING);
    }
  }
}
