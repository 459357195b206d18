import { setTimeout as delay } from 'node:timers/promises';
import { POOL } from '../times.js';
import type { World } from '../world/world.js';
import type { Violation } from './violation.js';

export interface Footprint {
  /** Bytes in use, without garbage. */
  heap: number;
  requests: number;
}

/** What compiled code, pools and caches may still grow by after the warm-up. */
const GROWTH = 16 * 1024 * 1024;
/** What is left behind takes far more for each request: see test/leaks/heap.test.ts. */
const GROWTH_PER_REQUEST = 700;

/** Connections of the pool, one that is being opened or closed, and the library's own. */
const MOST_CONNECTIONS = POOL + 2;
/** The same, with those to the provider, which are kept alive for a moment, and ours. */
const MOST_SOCKETS = MOST_CONNECTIONS + 20;

export async function footprints(world: World, requests: number): Promise<Map<string, Footprint>> {
  const found = new Map<string, Footprint>();
  for (const survivor of world.survivors) {
    found.set(survivor.name, { heap: await survivor.ask<number>('heap'), requests });
  }
  return found;
}

export function checkMemory(
  before: Map<string, Footprint>,
  after: Map<string, Footprint>,
): Violation[] {
  return [...after].flatMap(([name, { heap, requests }]) => {
    const start = before.get(name)!;
    const grown = heap - start.heap;
    const most = GROWTH + GROWTH_PER_REQUEST * (requests - start.requests);
    return grown <= most ? [] : [{ what: 'memory leaks', details: { name, grown, most } }];
  });
}

/** Nobody does anything any more, so nobody holds a transaction open, and pools are of their size. */
export async function checkConnections(world: World): Promise<Violation[]> {
  let violations: Violation[] = [];
  // A connection that was cut takes a moment to end on the server.
  for (let tries = 0; tries < 20; tries++) {
    violations = await leakedConnections(world);
    if (violations.length === 0) return [];
    await delay(500);
  }
  return violations;
}

async function leakedConnections(world: World): Promise<Violation[]> {
  const rows = await world.database.query<{ name: string; open: number; stuck: number }>(
    `SELECT application_name AS name, count(*)::int AS open,
            (count(*) FILTER (WHERE state LIKE 'idle in transaction%'
               AND state_change < now() - interval '5 seconds'))::int AS stuck
     FROM pg_stat_activity WHERE application_name = ANY ($1) GROUP BY 1`,
    [world.processes.map(({ name }) => name)],
  );
  const violations: Violation[] = rows
    .filter(({ open, stuck }) => open > MOST_CONNECTIONS || stuck > 0)
    .map((details) => ({ what: 'connections leak', details }));
  for (const survivor of world.survivors) {
    const sockets = await survivor.ask<number>('sockets');
    if (sockets > MOST_SOCKETS) {
      violations.push({ what: 'sockets leak', details: { name: survivor.name, sockets } });
    }
  }
  return violations;
}
