import { Args, Field, ID, Int, Mutation, ObjectType, Resolver } from '@nestjs/graphql';
import { AtomicPhase, Idempotent } from 'nestjs-atomic-idempotency';

@ObjectType()
export class PlacedOrder {
  @Field(() => ID)
  id!: string;

  @Field()
  placedAt!: Date;
}

@Resolver(() => PlacedOrder)
export class OrdersResolver {
  constructor(private readonly phases: AtomicPhase) {}

  /** The key is in the header of the request. */
  @Mutation(() => PlacedOrder)
  @Idempotent({ phased: true })
  async placeOrder(
    @Args('item') item: string,
    @Args('quantity', { type: () => Int }) quantity: number,
  ): Promise<PlacedOrder> {
    const { id } = await this.phases.local('order_placed', async (tx) => {
      const [row] = await tx.query<{ id: string }[]>(
        'INSERT INTO orders (item, quantity) VALUES ($1, $2) RETURNING id',
        [item, quantity],
      );
      return { id: row!.id };
    });
    return { id, placedAt: new Date() };
  }

  /** The key is an argument. */
  @Mutation(() => ID)
  @Idempotent({ key: (args: { reference: string }) => args.reference })
  async cancelOrder(@Args('reference') reference: string, @Args('id') id: string): Promise<string> {
    return `${id} (${reference})`;
  }
}
