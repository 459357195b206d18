// Checked by the compiler (`npm run test:types`); there is nothing to run. A line
// fails to compile as soon as the type of a phase's result differs from what
// JSON makes of it.
import type { AtomicPhase, Jsonified } from 'nestjs-atomic-idempotency';
import type { EntityManager } from 'typeorm';

/** True for types that are identical, and not merely assignable in one direction. */
type Same<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

const holds = <T extends true>(): T | undefined => undefined;

enum Colour {
  red = 'red',
}
type RideId = string & { readonly brand: 'ride' };
interface Tree {
  planted: Date;
  children: Tree[];
}
interface BareTree {
  planted: string;
  children: BareTree[];
}
class Money {
  constructor(
    readonly amount: number,
    readonly currency: string,
  ) {}
  toJSON(): { amount: number; paidAt: Date } {
    return { amount: this.amount, paidAt: new Date(0) };
  }
  plus(other: Money): Money {
    return other;
  }
}
class Ride {
  id!: number;
  nickname?: string;
  createdAt!: Date;
  cancelledAt!: Date | null;
  cancel(): void {}
}

// What JSON can hold stays what it is.
holds<Same<Jsonified<string>, string>>();
holds<Same<Jsonified<'a' | 1 | true | null>, 'a' | 1 | true | null>>();
holds<Same<Jsonified<undefined>, undefined>>();
holds<Same<Jsonified<void>, void>>();
holds<Same<Jsonified<Colour>, Colour>>();
holds<Same<Jsonified<RideId>, RideId>>();
holds<Same<Jsonified<{ a: { b: readonly number[] } }>, { a: { b: readonly number[] } }>>();

// What describes its own JSON becomes that, at any depth.
holds<Same<Jsonified<Date>, string>>();
holds<Same<Jsonified<Date | undefined>, string | undefined>>();
holds<Same<Jsonified<{ at: Date }[]>, { at: string }[]>>();
holds<Same<Jsonified<[Date, number]>, [string, number]>>();
holds<Same<Jsonified<Record<string, Date>>, Record<string, string>>>();
holds<Same<Jsonified<Money>, { amount: number; paidAt: string }>>();
holds<Same<Jsonified<{ toJSON(key: string): number }>, number>>();
holds<Same<Jsonified<Tree>['children'][number]['planted'], string>>();
const bare: BareTree = null as unknown as Jsonified<Tree>;

// An entity comes back without its methods, with its optional and nullable members.
holds<
  Same<
    Jsonified<Ride>,
    { id: number; nickname?: string; createdAt: string; cancelledAt: string | null }
  >
>();

// Functions and symbols vanish from objects; in a list, null keeps their place.
holds<
  Same<Jsonified<{ id: number; run: () => void; [Symbol.iterator]: number }>, { id: number }>
>();
holds<Same<Jsonified<(number | undefined)[]>, (number | null)[]>>();

// What a phase refuses has no type.
holds<Same<Jsonified<bigint>, never>>();
holds<Same<Jsonified<() => void>, never>>();
holds<Same<Jsonified<Map<string, number>>, never>>();
holds<Same<Jsonified<Set<number>>, never>>();
holds<Same<Jsonified<Promise<number>>, never>>();

// What the compiler knows nothing about stays open: `tx.query()` returns any.
holds<Same<Jsonified<any>, any>>();
holds<Same<Jsonified<unknown>, unknown>>();
holds<Same<Jsonified<{ rows: any }>, { rows: any }>>();

// The phases themselves.
declare const phases: AtomicPhase;
declare const rides: { load(tx: EntityManager): Promise<Ride> };

export async function results(): Promise<void> {
  const local = await phases.local('ride_created', (tx) => rides.load(tx));
  holds<Same<typeof local.createdAt, string>>();

  const nothing = await phases.local('ride_logged', async () => undefined);
  holds<Same<typeof nothing, undefined>>();

  const paid = async () => ({ id: 'ch_1', paidAt: new Date() });
  const plain = await phases.foreign('charge_created', { call: paid });
  holds<Same<typeof plain, { id: string; paidAt: string }>>();

  const recorded = await phases.foreign('tip_created', {
    call: paid,
    // The raw result: still a Date here.
    record: async (_tx, charge) => ({ year: charge.paidAt.getFullYear(), at: charge.paidAt }),
  });
  holds<Same<typeof recorded, { year: number; at: string }>>();
  void bare;
}
