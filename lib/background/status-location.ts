import { RequestMethod, VERSION_NEUTRAL, type Type } from '@nestjs/common';
import { MODULE_PATH } from '@nestjs/common/constants.js';
import type { ApplicationConfig, ModulesContainer } from '@nestjs/core';
import { RoutePathFactory } from '@nestjs/core/router/route-path-factory.js';

/** The address of a key's status, if the application serves it. */
export class StatusLocation {
  private route: string | undefined;

  constructor(
    private readonly path: string | undefined,
    private readonly module: Type,
    private readonly config: ApplicationConfig,
    private readonly modules: ModulesContainer,
  ) {}

  of(id: string): string | undefined {
    if (this.path === undefined) return undefined;
    this.route ??= this.routeOf(this.path);
    return this.route.replace(':id', id);
  }

  /**
   * Computed as Nest's router does, when the first request comes: from the global
   * prefix and its exclusions, the versioning, and the path that RouterModule
   * gives to this module.
   */
  private routeOf(path: string): string {
    const { applicationId } = this.modules as { applicationId?: string };
    const modulePath = (Reflect.getMetadata(`${MODULE_PATH}${applicationId}`, this.module) ??
      Reflect.getMetadata(MODULE_PATH, this.module)) as string | undefined;
    const prefix = this.config.getGlobalPrefix();
    const [route] = new RoutePathFactory(this.config).create(
      {
        ctrlPath: withLeadingSlash(path),
        methodPath: '/:id',
        controllerVersion: VERSION_NEUTRAL,
        ...(modulePath !== undefined && { modulePath }),
        ...(prefix && { globalPrefix: withLeadingSlash(prefix) }),
        ...versioning(this.config),
      },
      RequestMethod.GET,
    );
    return route!;
  }
}

function versioning(config: ApplicationConfig) {
  const versioningOptions = config.getVersioning();
  return versioningOptions && { versioningOptions };
}

function withLeadingSlash(path: string): string {
  return path.startsWith('/') ? path : `/${path}`;
}
