import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { TOKENS } from '../auth/user.js';
import type { ReceiptEntry } from '../payment-provider/ledger.js';
import { RemoteControl } from '../payment-provider/remote-control.js';
import { webhookEndpoint } from '../payments/webhook-endpoint.js';
import type { RunningProcess } from '../processes/child-process.js';
import { startApp } from '../processes/rocket-rides.js';
import type { Narrator } from './narrator.js';
import { Operator } from './operator.js';
import { Rider } from './rider.js';

/**
 * Short, because a retry after a crash really has to wait for it. In production it
 * is about half a minute.
 */
export const LEASE = '5s';

/** All that a chapter can act on: the app's process, the provider, the database. */
export class Stage {
  readonly provider: RemoteControl;
  private readonly apps: RunningProcess[] = [];

  private constructor(
    private readonly urls: { databaseUrl: string; paymentsUrl: string },
    private readonly platform: 'express' | 'fastify',
    private readonly database: pg.Client,
  ) {
    this.provider = new RemoteControl(urls.paymentsUrl);
  }

  static async open(
    urls: { databaseUrl: string; paymentsUrl: string },
    platform: 'express' | 'fastify',
  ): Promise<Stage> {
    const database = new pg.Client({ connectionString: urls.databaseUrl });
    await database.connect();
    const stage = new Stage(urls, platform, database);
    await stage.startApp();
    return stage;
  }

  /** The process of the app that riders talk to. */
  get app(): RunningProcess {
    return this.apps.at(-1) as RunningProcess;
  }

  /** Another process of the app, on the same database. From now on riders talk to it. */
  async startApp(): Promise<void> {
    const { urls, platform } = this;
    this.apps.push(await startApp({ ...urls, platform, port: 0, lease: LEASE }, 'keep'));
    await this.provider.tellBy(webhookEndpoint(this.app.url));
  }

  rider(narrator: Narrator, user: 0 | 1 = 0): Rider {
    return new Rider(narrator, this.app.url, TOKENS[user] as string);
  }

  operator(narrator: Narrator): Operator {
    return new Operator(narrator, this.app.url);
  }

  /** How many rows a query finds. */
  async count(fromAndWhere: string, ...parameters: unknown[]): Promise<number> {
    const { rows } = await this.database.query<{ count: string }>(
      `SELECT count(*) FROM ${fromAndWhere}`,
      parameters,
    );
    return Number(rows[0]?.count);
  }

  /** What the database says about a key. */
  async statusOfKey(key: string): Promise<string | undefined> {
    const { rows } = await this.database.query<{ status: string }>(
      'SELECT status FROM idempotency_keys WHERE key = $1',
      [key],
    );
    return rows[0]?.status;
  }

  /** What the database says about a phase of a key. */
  async phaseOfKey(key: string, phase: string): Promise<string | undefined> {
    const { rows } = await this.database.query<{ state: string }>(
      `SELECT p.state FROM idempotency_phases p JOIN idempotency_keys k ON p.scope = k.scope AND p.key_id = k.id
       WHERE k.key = $1 AND p.name = $2`,
      [key, phase],
    );
    return rows[0]?.state;
  }

  /** The charges that the provider has booked for a ride. */
  async chargesFor(rideId: string | undefined): Promise<number> {
    const charges = await this.provider.charges();
    return charges.filter(({ description }) => description === `Ride ${rideId}`).length;
  }

  /** The receipts that the provider has mailed for a ride, once none is on its way any more. */
  async receiptsFor(rideId: string | undefined): Promise<ReceiptEntry[]> {
    const ofRide = (entry: ReceiptEntry) => entry.description === `Receipt for ride ${rideId}`;
    for (;;) {
      const underWay = await this.count("idempotency_outbox WHERE payload->>'rideId' = $1", rideId);
      const mailed = (await this.provider.receipts()).filter(ofRide);
      if (underWay === 0) return mailed;
      await delay(50);
    }
  }

  async close(): Promise<void> {
    await this.database.end();
    await Promise.all(this.apps.map((app) => app.stop()));
  }
}
