import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { IdempotencyConfigurationError } from 'nestjs-atomic-idempotency';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { startIdempotentApp } from '../support/idempotent-app.js';
import { onEachPlatform } from '../support/platforms.js';
import { bootFailure } from './boot-failure.js';

const OTHER = '/app/node_modules/nestjs-atomic-idempotency/dist/cjs/lib (CommonJS)';

/** The list that all copies of the package in this process share; `npm run check:package` loads two. */
function copies(): Map<string, { inUse: boolean }> {
  const shared = globalThis as Record<symbol, unknown>;
  return shared[Symbol.for('nestjs-atomic-idempotency:copies')] as ReturnType<typeof copies>;
}

/** The same files, evaluated again. */
let loaded = 0;
const loadAgain = () => import(`../../lib/copies.js?copy=${(loaded += 1)}`);

describe('Another copy of the package in the process', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());
  afterEach(() => {
    copies().delete(OTHER);
    jest.restoreAllMocks();
  });

  it('prevents the application from starting, and the error names both and says what to do', async () => {
    const [own] = copies().keys();
    copies().set(OTHER, { inUse: false });
    const error = await bootFailure({ database });
    expect(error).toBeInstanceOf(IdempotencyConfigurationError);
    expect(error.message).toContain(`2 copies of nestjs-atomic-idempotency: ${own} and ${OTHER}`);
    expect(error.message).toContain('by `import` (ES modules) or by `require` (CommonJS)');
    expect(error.message).toContain('npm ls nestjs-atomic-idempotency');
  });

  it('is named by its folder and its format', () => {
    const [own] = copies().keys();
    expect(own).toMatch(/\/lib \(ES modules\)$/);
  });

  it('that an application uses already is reported by the one that is loaded later', async () => {
    const warned = jest.spyOn(process, 'emitWarning').mockReturnValue();
    copies().set(OTHER, { inUse: true });
    await loadAgain();
    expect(warned).toHaveBeenCalledTimes(1);
    expect(warned).toHaveBeenCalledWith(expect.stringContaining(OTHER));
  });

  it('is not reported when the same files are loaded again', async () => {
    await loadAgain();
    expect([...copies().keys()]).toHaveLength(1);
  });

  onEachPlatform((platform) => {
    it('is all that is refused: a single copy starts', async () => {
      const app = await startIdempotentApp(platform, { database });
      await app.close();
      expect([...copies().values()]).toEqual([{ inUse: true }]);
    });
  });
});
