import { RequestMethod } from '@nestjs/common';
import type { ApplicationConfig } from '@nestjs/core';
import { mapToExcludeRoute } from '@nestjs/core/middleware/utils.js';
import type { Voice } from '../answers/render-problem.js';
import { LONGEST_KEY, PLAIN_KEY } from '../request/key-header.js';

/** Where clients look for it, by RFC 8615: at the top of the server, whatever its prefix. */
export const DISCOVERY_PATH = '.well-known/idempotency';

/** What a server says of its keys, for programs. */
export interface DiscoveryDocument {
  /** The header that carries the key. */
  header: string;
  /** What a bare key may be. */
  key: { min_length: number; max_length: number; pattern: string };
  /**
   * How long a finished key is remembered, of all routes the shortest; null is for
   * ever. A client must not retry later.
   */
  retention_seconds: number | null;
  /** The shape of errors: a problem document, Stripe's, or the application's own. */
  dialect: 'ietf' | 'stripe' | 'own';
  /** Where the keys of this API are specified, for people. */
  specification?: string;
  /** Where the progress of an operation is shown: a URI template (RFC 6570). */
  status?: string;
}

/** What the discovery resource is made of. */
export interface Discovered {
  header: string;
  voice: Voice;
  /** What every route accepts. */
  shortestKey: () => number;
  shortestRetention: () => number | null;
  locationOf: (id: string) => string | undefined;
}

export class Discovery {
  constructor(
    private readonly config: ApplicationConfig,
    private readonly isServed: boolean,
    private readonly discovered: Discovered,
  ) {}

  /** Call it when the global prefix is known, and before Nest creates the routes. */
  leaveGlobalPrefix(): void {
    if (!this.isServed) return;
    const { exclude, ...others } = this.config.getGlobalPrefixOptions();
    const route = { path: DISCOVERY_PATH, method: RequestMethod.GET };
    this.config.setGlobalPrefixOptions({
      ...others,
      exclude: [...(exclude ?? []), ...mapToExcludeRoute([route])],
    });
  }

  describe(): DiscoveryDocument {
    const { header, voice, shortestKey, shortestRetention, locationOf } = this.discovered;
    const retention = shortestRetention();
    const { dialect, specification } = voice;
    const status = locationOf('{id}');
    return {
      header,
      key: { min_length: shortestKey(), max_length: LONGEST_KEY, pattern: PLAIN_KEY.source },
      // Rounded down: a client that believes it must not come too late.
      retention_seconds: retention === null ? null : Math.floor(retention / 1000),
      dialect: typeof dialect === 'function' ? 'own' : dialect,
      ...(specification !== undefined && { specification }),
      ...(status !== undefined && { status }),
    };
  }
}
