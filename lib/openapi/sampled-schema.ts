import type { Part } from './swagger-metadata.js';

/**
 * The schema of values of which only samples are known: the errors of an
 * application's own dialect, a function that nobody has described.
 */
export function schemaOfSamples(samples: readonly unknown[]): Part {
  const present = samples.filter((sample) => sample !== null);
  const nullable = present.length < samples.length ? { nullable: true } : {};
  const [type, ...others] = new Set(present.map(typeOf));
  // Nothing, or things of several kinds: anything may come.
  if (type === undefined || others.length > 0) return {};
  if (type === 'object') return { ...objectOf(present as Part[]), ...nullable };
  if (type === 'array') {
    return { type, items: schemaOfSamples((present as unknown[][]).flat()), ...nullable };
  }
  return { type, ...nullable };
}

function objectOf(samples: readonly Part[]): Part {
  const names = [...new Set(samples.flatMap((sample) => Object.keys(sample)))];
  const withName = (name: string) => samples.filter((sample) => Object.hasOwn(sample, name));
  const required = names.filter((name) => withName(name).length === samples.length);
  return {
    type: 'object',
    properties: Object.fromEntries(
      names.map((name) => [name, schemaOfSamples(withName(name).map((sample) => sample[name]))]),
    ),
    ...(required.length > 0 && { required }),
  };
}

function typeOf(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  return Number.isInteger(value) ? 'integer' : typeof value;
}
