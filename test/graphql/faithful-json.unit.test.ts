import { describe, expect, it } from '@jest/globals';
import { Field, ObjectType } from '@nestjs/graphql';
import { buildSchema, GraphQLError } from 'graphql';
import { PhaseUsageError } from '../../lib/policy/phase-errors.js';
import { fromFaithfulJson, toFaithfulJson } from '../../lib/graphql/faithful-json.js';
import { MutationErrors } from '../../lib/graphql/mutation-errors.js';
import { statusOf } from '../../lib/graphql/recorded-error.js';

@ObjectType('Person')
class Person {
  @Field()
  first!: string;

  @Field()
  get name(): string {
    return `${this.first}!`;
  }

  set name(_name: string) {
    throw new Error('a setter was called');
  }

  toJSON(): object {
    return { hidden: true };
  }
}

class Child extends Person {}

const again = (value: unknown) => fromFaithfulJson(toFaithfulJson(value, 'It'));

describe('JSON of a mutation’s result', () => {
  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['a text', 'x'],
    ['a number', 1.5],
    ['a bigint', 2n ** 70n],
    ['a date', new Date(5)],
    ['a list', [new Date(5), [1n], null]],
    ['nested data', { a: { b: [{ c: new Date(5) }] } }],
    ['names that look like marks', { $date: 'x', $$up: { $up: 1 }, $type: 'Person', $: 1 }],
    ['a name that is special', JSON.parse('{ "__proto__": { "x": 1 } }')],
  ])('gives back %s', (_what, value) => {
    const back = again(value);
    expect(back).toEqual(value);
    expect(Object.getPrototypeOf(back ?? {})).toBe(Object.getPrototypeOf(value ?? {}));
  });

  it('is readable for operators where nothing has to be marked', () => {
    const value = { id: 1, lines: [{ sku: 'x' }] };
    expect(toFaithfulJson(value, 'It')).toBe(JSON.stringify(value));
    expect(toFaithfulJson({ at: new Date(0) }, 'It')).toBe(
      '{"at":{"$date":"1970-01-01T00:00:00.000Z"}}',
    );
  });

  it('gives back bytes, invalid dates and errors', () => {
    expect(again(new Uint8Array([1, 2, 255]).subarray(1))).toEqual(Buffer.from([2, 255]));
    expect((again(new Date(NaN)) as Date).getTime()).toBeNaN();
    const [error] = again([new GraphQLError('no', { extensions: { code: 'NO' } })]) as [Error];
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({ message: 'no', extensions: { code: 'NO' } });
  });

  it('keeps classes that are object types, and their getters', () => {
    const person = again(Object.assign(new Person(), { first: 'Ada' })) as Person;
    expect(person).toBeInstanceOf(Person);
    expect(person.name).toBe('Ada!');
    const child = again([Object.assign(new Child(), { first: 'Bob' })]) as [Person];
    expect(child[0]).toBeInstanceOf(Person);
    expect(child[0].name).toBe('Bob!');
    const plain = again(
      new (class Other {
        x = 1;
      })(),
    ) as object;
    expect(Object.getPrototypeOf(plain)).toBe(Object.prototype);
    expect(fromFaithfulJson('{"$type":"Removed","x":1}')).toEqual({ x: 1 });
  });

  it('asks other objects for their own JSON', () => {
    expect(again({ amount: { toJSON: () => '12.50' } })).toEqual({ amount: '12.50' });
  });

  it('keeps objects that contain each other', () => {
    const order: Record<string, unknown> = { id: 1 };
    order.lines = [{ order, sku: 'x' }];
    const back = again(order) as { lines: { order: unknown }[] };
    expect(back.lines[0]!.order).toBe(back);
  });

  it('refuses what it would lose', () => {
    for (const value of [new Map(), new Set(), Promise.resolve(1), [{ a: new Map() }], NaN]) {
      expect(() => toFaithfulJson(value, 'It')).toThrow(PhaseUsageError);
    }
    let deep: unknown[] = [];
    for (let level = 0; level < 50_000; level++) deep = [deep];
    expect(() => toFaithfulJson(deep, 'It')).toThrow(PhaseUsageError);
  });
});

describe('Errors of a mutation', () => {
  const errors = new MutationErrors(buildSchema('type Query { a: Int }'));

  it('come back as errors of the application’s own copy of graphql', () => {
    const { kept } = errors.keep(new GraphQLError('no', { extensions: { code: 'NO' } }))!;
    const error = errors.revive(JSON.parse(JSON.stringify(kept)));
    expect(error).toBeInstanceOf(GraphQLError);
    expect(error).toMatchObject({ message: 'no', extensions: { code: 'NO' } });
  });

  it('come back with their names', () => {
    const { kept, status } = errors.keep(new TypeError('broken'))!;
    expect(status).toBe(500);
    const error = errors.revive(kept);
    expect(error).not.toBeInstanceOf(GraphQLError);
    expect(`${error.name}: ${error.message}`).toBe('TypeError: broken');
    class Declined extends GraphQLError {
      override readonly name = 'Declined';
    }
    const declined = new Declined('no', { extensions: { code: 'DECLINED' } });
    expect(errors.revive(errors.keep(declined)!.kept)).toMatchObject({ name: 'Declined' });
  });

  it.each<[object | undefined, number]>([
    [undefined, 500],
    [{}, 500],
    [{ code: 'INTERNAL_SERVER_ERROR' }, 500],
    [{ code: 'service_unavailable' }, 503],
    [{ code: 'CARD_DECLINED' }, 422],
    [{ code: 'CARD_DECLINED', http: { status: 402 } }, 402],
    [{ http: { status: 200 } }, 500],
  ])('with the extensions %j count as %d', (extensions, status) => {
    expect(statusOf(Object.assign(new Error('x'), { extensions }))).toBe(status);
  });
});
