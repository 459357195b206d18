import { UseGuards } from '@nestjs/common';
import { Args, ArgsType, Field, ID, Mutation, Query, Resolver } from '@nestjs/graphql';
import { IsIn, Length, Matches } from 'class-validator';
import { Idempotent } from 'nestjs-atomic-idempotency';
import { BearerTokenGuard } from '../auth/bearer-token.guard.js';
import { CurrentUser } from '../auth/current-user.decorator.js';
import type { User } from '../auth/user.js';
import type { Target } from '../rides/fares.js';
import { RideIdPipe } from '../rides/ride-id.pipe.js';
import { RidesService } from '../rides/rides.service.js';
import { RideType, Targets } from './ride.type.js';

/** As the body of `POST /rides`, see CreateRideDto. */
@ArgsType()
class RequestRideArgs {
  @Field()
  @Length(1, 100)
  origin!: string;

  @Field(() => Targets)
  @IsIn(Object.keys(Targets))
  target!: Target;

  @Field({ defaultValue: 'card_visa' })
  @Matches(/^card_\w{1,40}$/)
  card!: string;
}

/** The rides of the controller, for clients that speak GraphQL. The phases are the same. */
@Resolver(() => RideType)
@UseGuards(BearerTokenGuard)
export class RidesResolver {
  constructor(private readonly rides: RidesService) {}

  /** The key is in the header, as it is for `POST /rides`. */
  @Mutation(() => RideType)
  @Idempotent({ phased: true })
  async requestRide(@CurrentUser() user: User, @Args() ride: RequestRideArgs): Promise<RideType> {
    return asType(await this.rides.request({ user, ride }));
  }

  @Query(() => RideType)
  async ride(
    @CurrentUser() user: User,
    @Args('id', { type: () => ID }, RideIdPipe) id: string,
  ): Promise<RideType> {
    return asType(await this.rides.findOwn(user, id));
  }
}

/** Results of phases have been through JSON, in which a date is a text. */
function asType(ride: Omit<RideType, 'createdAt'> & { createdAt: Date | string }): RideType {
  return Object.assign(new RideType(), ride, { createdAt: new Date(ride.createdAt) });
}
