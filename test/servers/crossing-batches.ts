// A process that reserves keys in batches, as fast as it can, while another one
// asks for the same keys. No HTTP: the batches are what this is about.
import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { Module } from '@nestjs/common';
import type { KeyOutcome } from '../../lib/keys/key-outcome.js';
import type { Reservation } from '../../lib/keys/reservation.js';
import { serve } from '../support/child-server.js';
import { openKeyStore, reservationOf } from '../support/key-store.js';

const { DATABASE = '' } = process.env;

/** So many at once, as from several statements and several processes of an application. */
const LANES = 4;

/** Each batch shares keys with those before and after it. */
const KEYS = 16;
const STEP = 4;

@Module({})
class NoModule {}

interface Work {
  /** The number of the first batch, and how many there are. */
  from: number;
  batches: number;
}

const keys = await openKeyStore(DATABASE);

/** Ends what was reserved in the same statement that reserves the next ones. */
async function reserveAll({ from, batches }: Work): Promise<string[]> {
  const reserved: string[] = [];
  let next = from;
  async function lane() {
    let outcomes: KeyOutcome[] = [];
    while (next < from + batches) {
      const first = next++ * STEP;
      const names = Array.from({ length: KEYS }, (_, i) => `key-${first + i}`);
      const wanted = shuffled(names).map((name) => reservationOf(name));
      const { reserved: results } = await keys.store.reserveAndFinish(wanted, outcomes);
      outcomes = results.flatMap((result, i) =>
        result.kind === 'reserved' ? [outcomeOf(wanted[i]!, result.id)] : [],
      );
      results.forEach(({ kind }, i) => kind === 'reserved' && reserved.push(wanted[i]!.key));
    }
    await keys.store.finish(outcomes);
  }
  await Promise.all(Array.from({ length: LANES }, lane));
  return reserved;
}

function outcomeOf({ scope, owner }: Reservation, id: string): KeyOutcome {
  return {
    scope,
    id,
    owner,
    status: 'completed',
    responseStatus: 201,
    responseHeaders: {},
    responseBody: Buffer.from(randomUUID()),
    responseVersion: 1,
    errorCode: null,
    retention: 86_400_000,
    resumeIn: null,
  };
}

function shuffled(names: string[]): string[] {
  return names
    .map((name) => ({ name, at: Math.random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ name }) => name);
}

await serve(NoModule, { commands: { reserveAll } });
