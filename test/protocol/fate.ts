/** What happens to an attempt: it dies, or stalls, when it has passed so many fault points. */
export type Fate = typeof LIVES | { kind: 'dies' | 'stalls'; after: number };

export const LIVES = { kind: 'lives' } as const;

/** Tells at each fault point of an attempt whether its fate has come. */
export function fateful(fate: Fate): (point: string) => boolean {
  let passed = 0;
  return (point) => {
    if (fate.kind === 'lives') return false;
    passed += 1;
    if (passed <= fate.after) return false;
    // A transaction that is left open locks the key's row, so that nobody could
    // take it over: an attempt stalls at the next point then.
    return fate.kind === 'dies' || !point.endsWith('before_commit');
  };
}

export function describeFate(fate: Fate): string {
  return fate.kind === 'lives' ? '' : `, ${fate.kind} after ${fate.after} fault points`;
}
