/** Where the status of a key can be asked for, if the application serves it. */
export class StatusLocation {
  constructor(private readonly path: string | undefined) {}

  of(id: string): string | undefined {
    return this.path === undefined ? undefined : `/${this.path.replace(/^\/+|\/+$/g, '')}/${id}`;
  }
}
