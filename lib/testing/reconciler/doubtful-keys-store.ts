import { randomUUID } from 'node:crypto';
import type { INestApplicationContext } from '@nestjs/common';
import { ColumnCiphers } from '../../encryption/column-cipher.js';
import { Attempt } from '../../keys/attempt.js';
import { KeyStore } from '../../keys/key-store.js';
import { NO_ANSWER } from '../../keys/stored-answer.js';
import { RecordedPhases } from '../../keys/recorded-phases.js';
import { PhaseStore } from '../../phases/phase-store.js';
import { resolvePolicy } from '../../policy/resolve-policy.js';
import { Database } from '../../postgres/database.js';
import { toJson } from '../../schema/json.js';
import type { PhaseRecord } from '../../schema/phase-record.js';
import { Observation } from '../../telemetry/observation.js';

const SCOPE = 'verifyReconciler';

/** In the order in which nothing of them is needed any more. */
const TABLES = [
  'idempotency_audit',
  'idempotency_phases',
  'idempotency_keys',
  'idempotency_data_keys',
] as const;

const POLICY = resolvePolicy('ietf', [], SCOPE);

/** Keys with a call in doubt, as a dead attempt leaves them, and what became of them. */
export class DoubtfulKeysStore {
  private readonly database: Database;
  private readonly scope = `${SCOPE} ${randomUUID()}`;

  constructor(private readonly app: INestApplicationContext) {
    this.database = this.get(Database);
  }

  /** A key whose outcome is unknown, because of one call. */
  async create(phase: string, effectKey: string, request: unknown): Promise<Attempt> {
    const { lease, retention, onAbandoned, onExpired } = POLICY;
    const reservation = {
      scope: this.scope,
      endpoint: '',
      key: effectKey,
      owner: randomUUID(),
      fingerprint: Buffer.alloc(32),
      cipher: await this.get(ColumnCiphers).of(this.scope),
      observed: new Observation(SCOPE),
      asked: { method: 'POST', route: `/${SCOPE}`, path: `/${SCOPE}`, kept: undefined },
      ...{ lease, retention, onAbandoned, onExpired },
    };
    const keys = this.get(KeyStore);
    const [reserved] = await keys.reserve([reservation]);
    if (reserved?.kind !== 'reserved') throw new Error('verifyReconciler: no key could be made.');
    const row = { id: reserved.id, number: 1, recoveryPoint: 'started', resumeAttempts: 0 };
    const attempt = new Attempt(reservation, POLICY, { ...row, recorded: [] });
    await this.get(PhaseStore).record([
      {
        attempt,
        name: phase,
        position: 1,
        kind: 'foreign',
        state: 'intended',
        effectKey,
        inDoubt: 'reconcile',
        keyValidFor: null,
        request: toJson(request, `The request of phase "${phase}"`),
      },
    ]);
    await keys.finish([
      {
        scope: this.scope,
        id: reserved.id,
        owner: reservation.owner,
        retention,
        status: 'unknown',
        ...NO_ANSWER,
        errorCode: 'in_doubt',
        resumeIn: null,
      },
    ]);
    return attempt;
  }

  /** Instead of waiting until it is asked about again. */
  async makeDue({ id }: Attempt): Promise<void> {
    const keys = this.database.table('idempotency_keys');
    await this.database.query(`UPDATE ${keys} SET reconcile_after = now() WHERE id = $1`, [id]);
  }

  async phaseOf(attempt: Attempt): Promise<PhaseRecord | undefined> {
    const [phase] = await this.get(RecordedPhases).of(attempt, attempt.cipher);
    return phase;
  }

  /** Nothing of it is the application's. */
  async removeAll(): Promise<void> {
    for (const name of TABLES) {
      const table = this.database.table(name);
      await this.database.query(`DELETE FROM ${table} WHERE scope = $1`, [this.scope]);
    }
  }

  private get<T>(token: abstract new (...args: never[]) => T): T {
    return this.app.get(token as never, { strict: false });
  }
}
