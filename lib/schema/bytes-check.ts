import { IdempotencyConfigurationError } from '../policy/configuration-error.js';
import type { Database } from '../postgres/database.js';
import { errorCode } from '../postgres/database-errors.js';

/** What no text can hold: a NUL, a byte that is no UTF-8, and one that text would escape. */
const BYTES = Buffer.from([0x00, 0xff, 0x5c, 0x80]);

/** The class of SQLSTATEs for values that the server cannot read. */
const DATA_EXCEPTION = '22';

/**
 * Refuses a driver that sends bytes as text. Fingerprints and answers would be
 * damaged on their way, and every retry taken for another request.
 */
export async function checkBytes(database: Database): Promise<void> {
  if ((await arrived(database)) === BYTES.toString('hex')) return;
  throw new IdempotencyConfigurationError(
    'driver: the driver of the data source damages bytes that are sent to the database, as pg-native does, which TypeORM uses as soon as it is installed. ' +
      'Fingerprints and answers are bytes. Uninstall pg-native, so that TypeORM uses pg.',
  );
}

/** As hexadecimal digits; undefined where the server could not read them. */
async function arrived(database: Database): Promise<string | undefined> {
  try {
    const [row] = await database.query<{ bytes: string }>(
      `SELECT encode($1::bytea, 'hex') AS bytes`,
      [BYTES],
    );
    return row?.bytes;
  } catch (error) {
    if (errorCode(error)?.startsWith(DATA_EXCEPTION)) return undefined;
    throw error;
  }
}
