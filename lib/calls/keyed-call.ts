import { IdempotencyProblem } from '../answers/problems.js';
import { PhaseUsageError } from '../policy/phase-errors.js';
import { customFingerprint } from '../request/fingerprint.js';
import { LONGEST_KEY } from '../request/key-header.js';
import type { KeyedRequest } from '../request/request-reader.js';
import { scopeOf } from '../request/scope.js';
import { Observation } from '../telemetry/observation.js';

/** What fits into the index beside scope and key. */
const LONGEST_NAME = 255;

/** In the column of a request's method. */
const METHOD = 'CALL';

export interface NamedCall {
  name: string;
  scope: string | number | bigint;
  key: string;
  fingerprint: unknown;
}

/** A call as the keys know it. The name is part of it, so that calls and requests never meet. */
export function keyedCall({ name, scope, key, fingerprint }: NamedCall): KeyedRequest {
  checkText('name', name, LONGEST_NAME);
  checkText('key', key, LONGEST_KEY);
  return {
    scope: scopeOf(scope, (fault) => {
      throw new PhaseUsageError(
        `The scope of ${name} is ${fault}. Pass a stable, non-empty string or a whole number that says whose work it is.`,
      );
    }),
    endpoint: `${METHOD} ${name}`,
    key,
    fingerprint: fingerprintOf(name, fingerprint),
    observed: new Observation(name),
    summarise: () => ({ method: METHOD, route: name, path: '' }),
  };
}

function fingerprintOf(name: string, value: unknown): Buffer {
  try {
    return customFingerprint({ method: METHOD, route: name, params: {} }, value);
  } catch (error) {
    if (!(error instanceof IdempotencyProblem)) throw error;
    throw new PhaseUsageError(
      `The fingerprint of ${name} cannot be compared. ${error.detail} Pass a JSON value, a string or a Buffer.`,
    );
  }
}

function checkText(what: string, text: unknown, longest: number): void {
  const wellFormed =
    typeof text === 'string' && text !== '' && !text.includes('\0') && text.isWellFormed();
  if (wellFormed && text.length <= longest) return;
  throw new PhaseUsageError(
    `The ${what} of an idempotent call has to be a string of 1 to ${longest} characters` +
      (typeof text === 'string' ? `, and this one has ${text.length} or cannot be stored.` : '.'),
  );
}
