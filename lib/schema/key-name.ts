/** What the unique index is about. */
export interface KeyName {
  scope: string;
  endpoint: string;
  key: string;
}

/** As one text, for a Map. None of the three can contain a NUL. */
export function nameOf({ scope, endpoint, key }: KeyName): string {
  return `${scope}\0${endpoint}\0${key}`;
}
