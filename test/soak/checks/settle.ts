import { setTimeout as delay } from 'node:timers/promises';
import { isFinal, visit } from '../clients/client.js';
import { isBrief } from '../clients/errand.js';
import type { Journal, KeyHistory } from '../clients/journal.js';
import type { Decision } from '../shop/server.js';
import { TIMES } from '../times.js';
import { openBriefKeys } from '../world/removals.js';
import type { World } from '../world/world.js';
import { Patience } from './patience.js';
import type { Violation } from './violation.js';

/** So many clients come back at the same time. */
const LANES = 8;
const PAUSE = 500;

/** An unknown outcome is left to the reconciler for so many rounds; then a person decides. */
const ROUNDS_OF_THE_RECONCILER = 4;

/** Pauses between attempts of jobs, which grow to minutes, are over. Leases are left alone. */
const PASS_TIME = [
  `UPDATE idempotency_keys SET resume_after = now() WHERE resume_after > now() AND resume_after < 'infinity'`,
  `UPDATE idempotency_keys SET reconcile_after = now() WHERE reconcile_after > now() AND reconcile_after < 'infinity'`,
  `UPDATE idempotency_outbox SET available_at = now() WHERE available_at > now() AND lease_token IS NULL`,
];

/**
 * After the faults: first the jobs complete what needs no client, while none comes. Then
 * the clients return, and everything comes to its end.
 */
export async function settle(world: World, journal: Journal): Promise<Violation[]> {
  const violations = await withoutClients(world);
  const patience = new Patience();
  let open = await returningClients(world, journal);
  let waiting = await waitingMessages(world);
  for (let round = 1; patience.lasts(open.length + waiting); round++) {
    await help(world, round);
    open = await returning(world, journal, open, round);
    waiting = await waitingMessages(world);
    if (open.length === 0 && waiting === 0) return violations;
    await delay(PAUSE);
  }
  violations.push(...open.map(({ errand }) => ({ what: 'a key is stuck', key: errand.key })));
  if (waiting > 0) violations.push({ what: 'messages are stuck', details: { waiting } });
  return violations;
}

/** A brief key that is finished may be forgotten by now: another request would be another purchase. */
async function returningClients({ database }: World, journal: Journal): Promise<KeyHistory[]> {
  const unfinished = await openBriefKeys(database);
  return [...journal.keys.values()].filter(
    ({ errand }) => !isBrief(errand) || unfinished.has(errand.key),
  );
}

/** Operations that are on record are completed, whether or not their clients return. */
async function withoutClients(world: World): Promise<Violation[]> {
  const patience = new Patience();
  let open = await unfinishedOperations(world);
  for (let round = 1; open.length > 0 && patience.lasts(open.length); round++) {
    await help(world, round);
    await delay(PAUSE);
    open = await unfinishedOperations(world);
  }
  return open.map(({ key, status }) => ({
    what: 'no worker completes an operation',
    key,
    details: { status },
  }));
}

function unfinishedOperations({ database }: World): Promise<{ key: string; status: string }[]> {
  return database.query(
    `SELECT key, status FROM idempotency_keys
     WHERE operation IS NOT NULL AND status NOT IN ('performed', 'completed')`,
  );
}

/** Time passes, and in the end a person decides what no job can. */
async function help(world: World, round: number): Promise<void> {
  for (const statement of PASS_TIME) await world.database.query(statement);
  if (round > ROUNDS_OF_THE_RECONCILER) await decide(world);
}

/** One visit for each key that is still open. Returns those that stay open. */
async function returning(
  world: World,
  journal: Journal,
  open: KeyHistory[],
  round: number,
): Promise<KeyHistory[]> {
  const left = [...open];
  const still: KeyHistory[] = [];
  async function lane(number: number) {
    for (let history = left.pop(); history; history = left.pop()) {
      const server = world.servers[(round + number) % world.servers.length]!;
      if (!isFinal(await visit(history, server, journal, TIMES.patience))) still.push(history);
    }
  }
  await Promise.all(Array.from({ length: LANES }, (_, number) => lane(number)));
  return still;
}

async function waitingMessages(world: World): Promise<number> {
  const [row] = await world.database.query<{ waiting: number }>(
    'SELECT count(*)::int AS waiting FROM idempotency_outbox',
  );
  return row!.waiting;
}

/**
 * No process is stopped any more and no request is on its way, so what is not in the
 * provider's books will not come: a person may say so.
 */
async function decide(world: World): Promise<void> {
  const doubts = await world.database.query<{ key: string; effectKey: string }>(
    `SELECT k.key, p.effect_key AS "effectKey"
     FROM idempotency_phases p JOIN idempotency_keys k ON k.scope = p.scope AND k.id = p.key_id
     WHERE status = 'unknown' AND state = 'intended' AND in_doubt = 'stop'`,
  );
  if (doubts.length === 0) return;
  const transfers = await world.provider.control.transfers();
  for (const { key, effectKey } of doubts) {
    const found = transfers.find(({ description }) => description === key);
    const decision: Decision = { effectKey, ...(found && { found }) };
    await world.survivors[0]!.ask('decide', decision);
  }
}
