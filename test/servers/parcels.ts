// A mutation with a local and a foreign phase. The first call of the other system never
// returns, so that the test can kill the process in it; what it did is in the database.
import { Module } from '@nestjs/common';
import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo';
import {
  Args,
  Field,
  GraphQLModule,
  ID,
  Mutation,
  ObjectType,
  Query,
  Resolver,
} from '@nestjs/graphql';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AtomicPhase, Idempotent, IdempotencyModule } from 'nestjs-atomic-idempotency';
import { emit, serve } from '../support/child-server.js';

const { DATABASE = '', HOLD } = process.env;

@ObjectType()
class Parcel {
  @Field(() => ID)
  id!: number;

  @Field()
  item!: string;

  @Field()
  sentAt!: Date;
}

@Resolver()
class ParcelsResolver {
  constructor(private readonly phase: AtomicPhase) {}

  @Query(() => String)
  ready(): string {
    return 'yes';
  }

  @Mutation(() => Parcel)
  @Idempotent({ phased: true })
  async sendParcel(@Args('item') item: string): Promise<Parcel> {
    const { id } = await this.phase.local('packed', async (tx) => {
      const [row] = await tx.query('INSERT INTO parcels (item) VALUES ($1) RETURNING id', [item]);
      return row as { id: number };
    });
    await this.phase.foreign('handed_over', {
      inDoubt: 'repeat',
      call: async ({ idempotencyKey }) => {
        emit('called', idempotencyKey);
        if (HOLD) await new Promise(() => undefined);
      },
    });
    return Object.assign(new Parcel(), { id, item, sentAt: new Date(0) });
  }
}

@Module({
  imports: [
    TypeOrmModule.forRoot({ type: 'postgres', url: DATABASE, autoLoadEntities: true }),
    IdempotencyModule.forRoot({ scope: 'global', maintenance: false }),
    GraphQLModule.forRoot<ApolloDriverConfig>({
      driver: ApolloDriver,
      autoSchemaFile: true,
      graphiql: false,
    }),
  ],
  providers: [ParcelsResolver],
})
class ParcelsModule {}

await serve(ParcelsModule);
