import { UnreadableRecordError } from './unreadable-record.error.js';

/** For what only people look at: one value that cannot be read must not hide the others. */
export function shown<T>(open: () => T): T | string {
  try {
    return open();
  } catch (error) {
    if (!(error instanceof UnreadableRecordError)) throw error;
    return `(cannot be read: ${error.reason})`;
  }
}
