import { Controller, Post, Sse, type Type } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  IdempotencyConfigurationError,
  Idempotent,
  type IdempotencyPolicy,
} from 'nestjs-atomic-idempotency';
import { of } from 'rxjs';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { bootFailure } from './boot-failure.js';

function withPolicyOnHandler(policy: IdempotencyPolicy): Type {
  @Controller()
  class OrdersController {
    @Post()
    @Idempotent(policy)
    create() {
      return {};
    }
  }
  return OrdersController;
}

function withPolicyOnClass(policy: IdempotencyPolicy): Type {
  @Controller()
  @Idempotent(policy)
  class OrdersController {
    @Post()
    create() {
      return {};
    }
  }
  return OrdersController;
}

const mistakes: [IdempotencyPolicy, string, string][] = [
  [{ retention: 'a day' }, 'retention', "such as '30s'"],
  [{ lease: 'soon' }, 'lease', "such as '30s'"],
  [{ waitFor: '10' }, 'waitFor', "such as '30s'"],
  [{ maxRunTime: NaN }, 'maxRunTime', "such as '30s'"],
  [{ waitFor: '1m' }, 'waitFor', "at most '55s'"],
  [{ lease: '4s' }, 'lease (4000 ms) is shorter than storeTimeout', 'Lengthen lease'],
  // Neither layer alone is wrong: the module's lease is 30 s.
  [{ retention: '10s' }, 'lease', 'lengthen retention'],
  [{ onInProgress: 'queue' as 'wait' }, 'onInProgress', "'reject', 'accept', 'wait'"],
];

describe('Mistakes on a route', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());

  describe.each([
    ['class', withPolicyOnClass],
    ['handler', withPolicyOnHandler],
  ])(
    'stop the boot and name route, option and remedy, with @Idempotent() on the %s',
    (_, controllerWith) => {
      it.each(mistakes)('and %j', async (policy, option, cure) => {
        const error = await bootFailure({ database, controllers: [controllerWith(policy)] });
        expect(error).toBeInstanceOf(IdempotencyConfigurationError);
        expect(error.message).toContain('OrdersController.create');
        expect(error.message).toContain(option);
        expect(error.message).toContain(cure);
      });
    },
  );

  it.each(['above', 'below'])('stop the boot with @Idempotent() %s @Sse()', async (place) => {
    @Controller()
    class ProgressController {
      @Idempotent()
      @Sse('above')
      above() {
        return of({ data: 1 });
      }
    }
    @Controller()
    class UpsideDownController {
      @Sse('below')
      @Idempotent()
      below() {
        return of({ data: 1 });
      }
    }
    const controller = place === 'above' ? ProgressController : UpsideDownController;
    const error = await bootFailure({ database, controllers: [controller] });
    expect(error).toBeInstanceOf(IdempotencyConfigurationError);
    expect(error.message).toContain(`@Idempotent() of ${controller.name}.${place}`);
    expect(error.message).toContain('@Sse()');
    expect(error.message).toContain('Remove one of the two');
  });
});
