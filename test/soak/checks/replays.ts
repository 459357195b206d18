import { isFinal, visit } from '../clients/client.js';
import { isBrief } from '../clients/errand.js';
import type { Journal, KeyHistory } from '../clients/journal.js';
import { TIMES } from '../times.js';
import type { World } from '../world/world.js';
import type { Violation } from './violation.js';

const LANES = 8;
const MOST_TRIES = 10;

/** Every key that is kept is asked for once more on Express and on Fastify. The histories are checked later. */
export async function replayAll(world: World, journal: Journal): Promise<Violation[]> {
  const left = [...journal.keys.values()].filter(({ errand }) => !isBrief(errand));
  const violations: Violation[] = [];
  async function lane() {
    for (let history = left.pop(); history; history = left.pop()) {
      for (const server of world.survivors) {
        let received = await visit(history, server, journal, TIMES.patience);
        // A busy machine may keep the database from answering in time.
        for (let tries = 1; received?.status === 503 && tries < MOST_TRIES; tries++) {
          received = await visit(history, server, journal, TIMES.patience);
        }
        if (!isFinal(received)) {
          violations.push({
            what: 'a finished key is not replayed',
            key: history.errand.key,
            details: received && { status: received.status, text: received.text },
          });
        }
      }
    }
  }
  await Promise.all(Array.from({ length: LANES }, lane));
  return violations;
}

/** Whatever route it was, and whoever answered: one final answer per key, the same bytes. */
export function sameBytes({ errand, operations }: KeyHistory): Violation[] {
  const finals = operations.flatMap(({ told }) => (told.kind === 'final' ? [told] : []));
  const answers = new Set(finals.map(({ status, bytes }) => `${status} ${bytes}`));
  const firsts = finals.filter(({ replayed }) => !replayed).length;
  const violations: Violation[] = [];
  if (answers.size > 1) violations.push({ what: 'a replay has other bytes', key: errand.key });
  if (firsts > 1) violations.push({ what: 'two answers claim to be the first', key: errand.key });
  return violations;
}
