/** Something that must not be, with all that is known of it. */
export interface Violation {
  what: string;
  /** The key, if it is about one: its history is printed. */
  key?: string;
  details?: unknown;
}
