import { IdempotencyConfigurationError } from './policy/configuration-error.js';

/**
 * A process can hold this package more than once: as ES modules and as CommonJS,
 * or in two versions. Each copy has its own request context, its own metadata and
 * its own classes, so what one of them decorates, the other does not see: routes
 * would run unprotected, and `instanceof` would be false. Every copy therefore
 * adds itself to a list that all copies share.
 */
const LIST = Symbol.for('nestjs-atomic-idempotency:copies');

interface Copy {
  /** An application uses its IdempotencyModule. */
  inUse: boolean;
}

const shared = globalThis as { [LIST]?: Map<string, Copy> };
const copies = (shared[LIST] ??= new Map<string, Copy>());
const here = thisCopy();
// The same files evaluated again, as after `jest.resetModules()`, are the same copy.
const own = copies.get(here) ?? { inUse: false };
copies.set(here, own);

if ([...copies].some(([place, copy]) => place !== here && copy.inUse)) {
  // Too late for an error at boot: the application is running.
  process.emitWarning(twoCopies());
}

/** Refuses to start beside another copy. */
export function refuseOtherCopies(): void {
  if (copies.size > 1) throw new IdempotencyConfigurationError(twoCopies());
  own.inUse = true;
}

function twoCopies(): string {
  return (
    `this process has loaded ${copies.size} copies of nestjs-atomic-idempotency: ${[...copies.keys()].join(' and ')}. ` +
    'Each has its own decorators, request context, entities and error classes, so what uses one of them is not protected by the other. ' +
    'Load the package in one way only, by `import` (ES modules) or by `require` (CommonJS), in the application and in its libraries; and install it once: `npm ls nestjs-atomic-idempotency` shows who installs another one.'
  );
}

/**
 * The folder of this file; no expression for it works in both module formats. The
 * text of a stack would not do: with `--enable-source-maps` it names the source,
 * which is the same for both.
 */
function thisCopy(): string {
  const { prepareStackTrace } = Error;
  Error.prepareStackTrace = (_error, [top]) => top?.getFileName();
  const file: unknown = new Error().stack;
  Error.prepareStackTrace = prepareStackTrace;
  const format = typeof module === 'undefined' ? 'ES modules' : 'CommonJS';
  if (typeof file !== 'string') return format;
  return `${file.replace(/[/\\][^/\\]+$/, '')} (${format})`;
}
