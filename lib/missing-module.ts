import type { ModulesContainer } from '@nestjs/core';
import { IdempotencyConfigurationError } from './policy/configuration-error.js';
import { IMPORTED } from './tokens.js';

/**
 * `@Idempotent()` builds its interceptor in the controller's module, which does
 * not import the library's.
 */
export function missingModule(
  interceptor: new (...args: never[]) => unknown,
  modules: ModulesContainer,
): Error {
  const affected = [...modules.values()]
    .filter(
      ({ injectables, providers }) => injectables.has(interceptor) || providers.has(interceptor),
    )
    .filter(
      (module) => ![module, ...module.imports].some(({ providers }) => providers.has(IMPORTED)),
    )
    .map(({ name }) => name)
    .join(', ');
  return new IdempotencyConfigurationError(
    `@Idempotent() is used in ${affected}, which does not import the module, so nothing would be protected. ` +
      'Import IdempotencyModule.forRoot({ scope: … }) into the root module; it is global. ' +
      `With isGlobal: false, import it into ${affected} too. ` +
      'In a unit test, no database is needed: add ...provideIdempotencyForTests() of nestjs-atomic-idempotency/testing to the providers, ' +
      'or IdempotencyTestingModule.forTests() to the imports.',
  );
}
