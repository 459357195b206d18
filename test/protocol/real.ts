import { expect } from '@jest/globals';
import { IdempotencyOperator } from 'nestjs-atomic-idempotency';
import {
  observeFaultPoints,
  SimulatedCrash,
  type FaultPoint,
} from 'nestjs-atomic-idempotency/testing';
import { send, type Received } from '../support/http.js';
import { lapse, type IdempotentApp } from '../support/idempotent-app.js';
import { until } from '../support/until.js';
import { fateful, LIVES, type Fate } from './fate.js';
import type { Provider } from './provider.js';
import { outcomeOf } from './shop.js';
import type { Circumstances, KeyState, NamedKey, Told } from './vocabulary.js';

/** What became of a request. */
export type Outcome = { kind: 'answered'; told: Told } | { kind: 'dies' | 'stalls'; at: string };

/** A key as the database has it, with what its phases have written. */
export interface RealRow extends KeyState {
  id: string;
  effectKey: string | null;
  responseStatus: number | null;
  responseBody: string | null;
  orders: number;
  charges: number[];
  receipts: number;
}

/** An attempt has met its fate. */
interface Met {
  kind: 'dies' | 'stalls';
  at: string;
  /** Lets a stalled attempt continue. */
  goOn: () => void;
}

interface Sent {
  answer: Promise<Received>;
  giveUp: () => void;
}

/** One request, as a client sends it. */
export function order(
  { url }: { url: string },
  { name, policy }: NamedKey,
  circumstances: Circumstances,
  signal?: AbortSignal,
): Promise<Received> {
  return send(`${url}/orders/${policy.inDoubt}/${policy.onAbandoned}`, {
    key: name,
    headers: { 'x-circumstances': JSON.stringify(circumstances) },
    ...(signal && { signal }),
  });
}

/** The application, as the commands of the property use it. One at a time. */
export class Real {
  /** Attempts that stand still at a fault point, in the order in which they came there. */
  readonly stalled: { wake: () => Promise<Told>; giveUp: () => void }[] = [];
  private readonly finalAnswers = new Map<string, string>();
  private fate: Fate = LIVES;
  private isFateful = fateful(LIVES);
  private meetFate: (met: Met) => void = () => undefined;
  private readonly stopObserving: () => void;

  constructor(
    private readonly app: IdempotentApp,
    readonly provider: Provider,
  ) {
    this.stopObserving = observeFaultPoints((point) => this.observe(point));
  }

  /**
   * What a failed run has left standing stays there: woken, it would pass its
   * fault points in the middle of the next run.
   */
  close(): void {
    this.stopObserving();
    for (const { giveUp } of this.stalled) giveUp();
  }

  /** Sends a request and waits until it is answered, dead or stalled. */
  async request(key: NamedKey, circumstances: Circumstances, fate: Fate): Promise<Outcome> {
    const met = this.await(fate);
    const sent = this.send(key, circumstances);
    const told = sent.answer.then((answer) => this.read(key, answer));
    told.catch(() => undefined); // nobody waits for the answer of one that dies or is given up
    const first = await Promise.race([met, told]);
    this.expectLife();
    if (!('at' in first)) return { kind: 'answered', told: first };
    const { kind, at, goOn } = first;
    if (kind === 'dies') {
      sent.giveUp();
      await sent.answer.catch(() => undefined);
    } else {
      const wake = () => {
        goOn();
        return told;
      };
      this.stalled.push({ wake, giveUp: sent.giveUp });
    }
    return { kind, at };
  }

  /** Sends several at once. The answers in any order, without the one that died. */
  async duplicates(
    key: NamedKey,
    circumstances: Circumstances,
    fate: Fate,
    count: number,
  ): Promise<Told[]> {
    const received: Received[] = [];
    const met = this.await(fate).then(() => true);
    const sent = Array.from({ length: count }, () => this.send(key, circumstances));
    const all = Promise.all(sent.map(async ({ answer }) => received.push(await answer)));
    const died = await Promise.race([met, all.then(() => false)]);
    this.expectLife();
    if (died) {
      await until(() => received.length === count - 1, 'all but the dead one are answered');
      for (const { giveUp } of sent) giveUp();
      await Promise.allSettled([all]);
    }
    return received.map((answer) => this.read(key, answer));
  }

  async lapse(key: string): Promise<void> {
    await lapse(this.app.database, key);
  }

  /** The provider forgets the effect key, as it had announced. */
  async forget(key: string): Promise<void> {
    const { effectKey } = (await this.rows(key)).get(key)!;
    if (effectKey === null) return;
    this.provider.forget(effectKey);
    await this.app.database.query(
      `UPDATE idempotency_phases SET key_valid_until = now() WHERE effect_key = $1`,
      [effectKey],
    );
  }

  /** An operator looks into the provider's books and tells what became of an unknown key. */
  async resolve(key: string): Promise<boolean> {
    const { id, charge, effectKey } = (await this.rows(key)).get(key)!;
    const operator = this.app.app.get(IdempotencyOperator);
    if (charge !== 'intended') {
      const change = await operator.resolveKey(id, { outcome: 'retryable' }, 'tests');
      return change.changed;
    }
    const resolution = outcomeOf(this.provider.lookUp(effectKey!));
    if (resolution.outcome === 'unknown') return false;
    return (await operator.resolve(effectKey!, resolution, 'tests')).changed;
  }

  /** The keys whose names begin like this. */
  async rows(prefix: string): Promise<Map<string, RealRow>> {
    const rows = await this.app.database.query<RealRow & { key: string }>(
      // First the rows of the library: a cluster joins them with tables of one server only then.
      `WITH k AS MATERIALIZED (
         SELECT k.key, k.id, k.status, k.recovery_point AS "recoveryPoint", k.attempt,
                coalesce(p.state, 'none') AS "charge", p.effect_key AS "effectKey",
                k.response_status AS "responseStatus",
                convert_from(k.response_body, 'UTF8') AS "responseBody"
         FROM idempotency_keys k
         LEFT JOIN idempotency_phases p ON p.scope = k.scope AND p.key_id = k.id AND p.name = 'charge_created'
         WHERE k.scope = '' AND k.key ^@ $1
       )
       SELECT k.*,
              (SELECT count(*)::int FROM orders o WHERE o.key = k.key) AS "orders",
              ARRAY(SELECT id FROM charges c WHERE c.key = k.key) AS "charges",
              (SELECT count(*)::int FROM receipts r WHERE r.key = k.key) AS "receipts"
       FROM k`,
      [prefix],
    );
    return new Map(rows.map(({ key, ...row }) => [key, row]));
  }

  private send(key: NamedKey, circumstances: Circumstances): Sent {
    const client = new AbortController();
    const answer = order(this.app, key, circumstances, client.signal);
    return { answer, giveUp: () => client.abort() };
  }

  /** Resolves when an attempt meets this fate. */
  private await(fate: Fate): Promise<Met> {
    this.fate = fate;
    this.isFateful = fateful(fate);
    return new Promise((resolve) => (this.meetFate = resolve));
  }

  private expectLife(): void {
    this.fate = LIVES;
    this.isFateful = fateful(LIVES);
  }

  private observe({ name }: FaultPoint): void | Promise<void> {
    const { kind } = this.fate;
    if (kind === 'lives' || !this.isFateful(name)) return;
    this.expectLife();
    if (kind === 'dies') {
      this.meetFate({ kind, at: name, goOn: () => undefined });
      throw new SimulatedCrash(name);
    }
    return new Promise((goOn) => this.meetFate({ kind, at: name, goOn }));
  }

  /** An answer in the model's words. Final answers of one key are the same bytes. */
  private read({ name }: NamedKey, { status, headers, text }: Received): Told {
    if (headers.has('idempotency-key-expires')) {
      const first = this.finalAnswers.get(name) ?? text;
      this.finalAnswers.set(name, first);
      expect(text).toBe(first);
      return { kind: 'final', status: status as 201 };
    }
    if (status === 500) return { kind: 'failed' };
    expect(status).toBe(409);
    const { code } = JSON.parse(text) as { code: string };
    return { kind: code.replace('outcome_', '') as 'unknown' };
  }
}
