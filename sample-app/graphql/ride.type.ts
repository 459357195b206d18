import { Field, ID, Int, ObjectType, registerEnumType } from '@nestjs/graphql';
import { FARES, type Target } from '../rides/fares.js';

/** GraphQL wants an enum; the fares already say which targets there are. */
export const Targets = Object.fromEntries(
  Object.keys(FARES).map((target) => [target, target]),
) as Record<Target, Target>;
registerEnumType(Targets, { name: 'Target' });

@ObjectType('Ride')
export class RideType {
  @Field(() => ID)
  id!: string;

  @Field()
  origin!: string;

  @Field(() => Targets)
  target!: Target;

  /** In cents. */
  @Field(() => Int)
  fare!: number;

  @Field(() => String, { nullable: true })
  chargeId!: string | null;

  @Field()
  createdAt!: Date;
}
