/** A span of time: milliseconds, or a number with a unit such as `'30s'`, `'15m'`, `'24h'`, `'7d'`. */
export type Duration = number | string;

const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/**
 * The milliseconds of a duration, or undefined if it cannot be parsed. Fractions
 * are allowed (`'1.5h'`).
 */
export function parseDuration(duration: Duration): number | undefined {
  if (typeof duration === 'number') {
    return Number.isFinite(duration) && duration >= 0 ? Math.round(duration) : undefined;
  }
  const match = /^\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)\s*$/.exec(String(duration));
  if (!match) return undefined;
  return Math.round(Number(match[1]) * UNITS[match[2] as keyof typeof UNITS]);
}
