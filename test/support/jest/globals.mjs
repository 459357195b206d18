// `@jest/globals` of the test file that is loaded now: see runtime.mjs.
import { currentGlobals } from './runtime.mjs';

export const { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest, test } =
  currentGlobals();
