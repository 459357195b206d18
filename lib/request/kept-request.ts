import { Logger } from '@nestjs/common';
import type { ResolvedPolicy } from '../policy/resolve-policy.js';
import { toJson } from '../schema/json.js';

/** Enough for people to read. */
const LONGEST_REQUEST = 64 * 1024;

/** Long enough for any path of a router. */
const LONGEST_PATH = 2_000;

/** The request of a key, for people. */
export interface RequestSummary {
  method: string;
  /** The pattern of the route. */
  route: string;
  /** Without the query. */
  path: string;
  /** JSON text: what `keepRequest` kept. */
  kept?: string | undefined;
}

/** A class, because it lives as long as its request: see "Garbage collection" in bench/README.md. */
export class KeptSummary implements RequestSummary {
  constructor(
    readonly method: string,
    readonly route: string,
    readonly path: string,
    readonly kept: string | undefined,
  ) {}
}

const logger = new Logger('IdempotencyModule');

/**
 * What `keepRequest` keeps, as JSON text. An error here does not stop the
 * request: this is only for people, and nothing depends on it.
 */
export function keptRequest(
  keep: ResolvedPolicy['keepRequest'],
  request: unknown,
  body: unknown,
): string | undefined {
  if (keep === false) return undefined;
  try {
    const value = keep === true ? body : keep(request);
    const text = toJson(value, 'The kept request');
    if (text === undefined || text.length <= LONGEST_REQUEST) return text;
    return JSON.stringify(`(not kept: ${text.length} characters of JSON)`);
  } catch (error) {
    logger.warn(`A request was not kept (keepRequest): ${(error as Error).name}`);
    return JSON.stringify('(not kept: it cannot be stored as JSON)');
  }
}

/** The path of a request target. The query is left out, because it may contain secrets. */
export function pathOf(url: string): string {
  const query = url.indexOf('?');
  return (query === -1 ? url : url.slice(0, query)).slice(0, LONGEST_PATH);
}
