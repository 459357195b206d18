import { Injectable, Scope, type Provider } from '@nestjs/common';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import {
  IdempotencyConfigurationError,
  Reconciler,
  type Reconciliation,
} from 'nestjs-atomic-idempotency';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { startPhaseApp } from '../support/phase-app.js';
import { forEachPlatform } from '../support/platforms.js';

const executed = (result: string): Reconciliation => ({ outcome: 'executed', result });

@Injectable()
class Charges {
  private readonly name = 'Charges';

  @Reconciler('charge_created')
  lookUp(): Reconciliation {
    return executed(this.name);
  }
}

@Injectable()
class OtherCharges {
  @Reconciler('charge_created')
  find(): Reconciliation {
    return executed('OtherCharges');
  }
}

@Injectable({ scope: Scope.REQUEST })
class ChargesOfARequest extends Charges {}

forEachPlatform('Reconcilers at boot', (platform) => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());

  const boot = (providers: Provider[]) => startPhaseApp(platform, { providers, database });

  it('are refused if two have one recovery point', async () => {
    await expect(boot([Charges, OtherCharges])).rejects.toThrow(
      new IdempotencyConfigurationError(
        "@Reconciler('charge_created') of OtherCharges.find: another method is already the reconciler of this recovery point. Keep one of them.",
      ),
    );
  });

  it('are refused if they are request-scoped', async () => {
    await expect(boot([ChargesOfARequest])).rejects.toThrow(
      /ChargesOfARequest\.lookUp is called when there is no request.*Give it the default scope/,
    );
  });

  it.each<[string, Provider[]]>([
    ['a class', [Charges]],
    ['a class with an alias', [Charges, { provide: 'CHARGES', useExisting: Charges }]],
    ['a factory', [{ provide: 'CHARGES', useFactory: async () => new Charges() }]],
  ])('provided by %s are found, and called with their own this', async (_, providers) => {
    const app = await boot(providers);
    app.handle('charge', (phases) =>
      phases.foreign('charge_created', {
        call: (): Promise<string> => Promise.reject(new Error('timeout')),
        inDoubt: 'reconcile',
      }),
    );

    expect((await app.post('charge', crypto.randomUUID())).text).toBe('Charges');
    await app.close();
  });
});
