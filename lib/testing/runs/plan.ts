import { nameOf, type Disturbance, type Spot } from './disturbance.js';
import type { RunResult } from './run-result.js';

export interface Plan {
  disturbances: Disturbance[];
  /** What there was no room for. */
  skipped: Disturbance[];
}

/**
 * What to do to the endpoint, most telling first: it is broken at every step of
 * the library, every call loses its answer, every place outside a transaction is
 * died at, and so on. If there is not room for all, places inside transactions go
 * first: a crash there is a rollback, whichever statement it hits.
 */
export function planFor(undisturbed: RunResult, most: number): Plan {
  const { spots, effects } = undisturbed.record;
  const steps = spots.filter(({ kind }) => kind === 'step');
  const places = spots.filter((spot) => spot.kind !== 'step' && !isKnownStep(spot, spots));
  const answers = spots.filter(({ kind, name }) => kind === 'call' && name.includes('› after '));
  const crash = (at: Spot, next: 'client' | 'worker' | 'client a day later' = 'client') =>
    ({ kind: 'crash', at, next }) as const;
  const first = steps.findIndex(({ name }) => name.endsWith(':after_commit'));
  // There it is a worker that does the work, and it has nobody to overtake it.
  const inBackground = undisturbed.answers[0]?.status === 202;
  const withWorker = undisturbed.resumable && !inBackground && first >= 0 ? steps.slice(first) : [];

  const all: Disturbance[] = [
    ...steps.map((at) => crash(at)),
    ...(answers.length > 0 ? answers : []).map((at) => ({ kind: 'lost', at }) as const),
    // A call that is a plain function, such as that of a fake provider, is not seen by itself.
    ...steps
      .filter(
        ({ name, phase }) =>
          name.endsWith(':after_call') && !answers.some((answer) => answer.phase === phase),
      )
      .map((at) => ({ kind: 'lost', at }) as const),
    ...answers.map((at) => ({ kind: 'failed', at }) as const),
    ...places.filter(({ inTransaction }) => !inTransaction).map((at) => crash(at)),
    ...steps
      .filter(({ name, phase }) => name.endsWith(':after_call') && phase! in effects)
      .map((at) => crash(at, 'client a day later')),
    ...(undisturbed.changes.some(({ table }) => table === 'messages of the outbox')
      ? [{ kind: 'redelivery' } as const]
      : []),
    ...steps
      .filter(
        ({ inTransaction, name }) => !inTransaction && !inBackground && name !== 'recording:after',
      )
      .map((at) => ({ kind: 'zombie', at }) as const),
    ...withWorker
      .filter(({ name }) => !name.startsWith('recording'))
      .map((at) => crash(at, 'worker')),
    ...places.filter(({ inTransaction }) => inTransaction).map((at) => crash(at)),
  ];
  return { disturbances: all.slice(0, most), skipped: all.slice(most) };
}

/**
 * Before the first call of a foreign phase the process is where it is after the
 * intent; after the last one it is where it is after the call. These are steps.
 */
function isKnownStep(spot: Spot, spots: readonly Spot[]): boolean {
  if (spot.kind !== 'call' || spot.phase === undefined || spot.inTransaction) return false;
  const calls = spots.filter(({ kind, phase }) => kind === 'call' && phase === spot.phase);
  return spot === calls[0] || spot === calls.at(-1);
}

export function namesOf(disturbances: readonly Disturbance[]): string[] {
  return disturbances.map(nameOf);
}
