import { toJson } from '../schema/json.js';

/** What a phase returned, as it is recorded. Refuses what a resume could not return as it was. */
export function phaseResult(phase: string, value: unknown): string | undefined {
  return toJson(value, `The result of phase "${phase}"`);
}
